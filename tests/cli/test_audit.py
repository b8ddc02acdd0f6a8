"""What is wrong with the installed items, for people and programs: audit, SARIF, SBOM; cache and completion."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.scenes.directive_text import SHELL
from tests.scenes.person import Person, at_once
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes


TOOL = """__version__ = "1.0.0"
__category__ = "{category}"
__tool_description__ = "What the texts here call"
"""
TOOLS = ("tool:acme/shell/run", "tool:acme/work/notify")


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    author.release("work/base")
    author.release("work/top", depends=(("acme/work/base", "^1.0"),))
    for tool in ("shell/run", "work/notify"):
        author.sign(f"tools/{tool}.py", TOOL.format(category=tool.partition("/")[0]))
        author.publish(f".ai/tools/{tool}.py")
    return author


@pytest.fixture(scope="module")
def warned(registry: Registry, acme: Person) -> Person:
    """Someone whose two items were later yanked and deprecated: two warnings, no error."""
    acme.release("past/one")
    acme.release("past/two")
    person = registry.user()
    person.ok("add", "acme/past/one", "--yes")
    person.ok("add", "acme/past/two", "--group", "dev", "--yes")
    acme.ok("yank", "acme/past/one@1.0.0", "--reason", "It was wrong", "--yes")
    acme.ok("deprecate", "acme/past/two", "--reason", "It is old", "--yes")
    return person


def rules(person: Person, *options: str) -> list[str]:
    """Every finding, warnings included."""
    done = person.run("audit", "--json", "--level", "info", *options)
    found = [finding["rule"] for finding in done.json["findings"]]
    assert done.code == (1 if found else 0)
    return found


class TestAudit:
    def test_nothing_wrong_is_exit_0(self, user: Person) -> None:
        user.ok("add", "acme/work/top", "--yes")
        assert user.ok("audit").stdout == "2 items, no findings\n"

    def test_one_item_is_not_called_items(self, user: Person) -> None:
        user.ok("add", "acme/work/base", "--yes")
        assert user.ok("audit").stdout == "1 item, no findings\n"

    def test_advisories_that_were_seen_and_cannot_be_read_are_said(self, user: Person) -> None:
        """Also where the registry now knows of none, and if it is a pipe."""
        user.ok("add", "acme/work/base", "--yes")
        [state] = user.library.home.registries.glob("*/state.json")
        file = state.with_name("advisories.json")
        file.write_bytes(b'{"tool:acme/x": ')
        file.chmod(0o600)
        assert user.fails("audit", code="state-damaged")["findings"] == []
        user.fails("--offline", "audit", code="state-damaged")
        file.unlink()
        os.mkfifo(file, 0o600)
        user.fails("audit", code="state-damaged")
        user.fails("install", code="state-damaged")

    def test_changed_missing_and_extra_files(self, user: Person) -> None:
        user.ok("add", "acme/work/top", "--yes")
        user.write(".ai/packages/acme/directives/work/base.md", "changed")
        user.path(".ai/packages/acme/directives/work/top.md").unlink()
        user.write(".ai/packages/evil/directives/x.md", "planted")
        assert rules(user) == ["modified-file", "missing-file", "extra-file"]

    def test_rights_and_hooks_that_an_edited_lock_hides(self, user: Person, acme: Person) -> None:
        """The publisher's signed text decides, not what rye.lock says about it (DESIGN §5)."""
        acme.release("work/hiding", permissions=SHELL, hooks=(("cost.current > 3", "notify", "${cost.current}"),))
        user.ok("add", "acme/work/hiding", *TOOLS, "--yes")
        user.ok("hooks", "approve", "acme/work/hiding", "--yes")
        assert rules(user) == []
        text = user.path("rye.lock").read_text()
        user.write("rye.lock", re.sub(r"(?ms)^(capabilities|hooks|approved|approved-hooks) = \[\n.*?^\]\n", "", text))
        assert set(rules(user)) == {"unapproved-right", "unapproved-hook"}

    @pytest.mark.parametrize(
        ("word", "other"),
        [
            (r"log = \d+", "log = 1"),
            (r"keyset = \d+", "keyset = 7"),
            (r"size = \d+", "size = 1"),
            (r'registry = "[^"]*"', 'registry = "evil.example"'),
            (r'signer = "[^"]*"', 'signer = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"'),
        ],
    )
    def test_a_lock_that_departs_from_the_release_it_names(self, user: Person, word: str, other: str) -> None:
        user.ok("add", "acme/work/base", "--yes")
        text = user.path("rye.lock").read_text()
        user.write("rye.lock", re.sub(f"(?m)^{word}$", other, text))
        (finding,) = user.run("audit", "--json").json["findings"]
        assert (finding["rule"], finding["severity"]) == ("lock-mismatch", "error")
        assert re.search("rye.lock (contradicts|says)|is locked to the registry evil.example", finding["message"])
        user.write("rye.lock", text)
        assert rules(user) == []

    def test_a_lock_that_departs_in_what_it_says_of_attached_files(self, user: Person, acme: Person) -> None:
        head = '---\nname: kit\ndescription: Does work. Use it for work.\nmetadata:\n  version: "1.0.0"\n---\n\n# Kit\n'
        acme.write(".ai/skills/kit/SKILL.md", head)
        acme.write(".ai/skills/kit/run.sh", "#!/bin/sh\necho hello\n").chmod(0o755)
        acme.ok("sign", ".ai/skills/kit")
        acme.publish(".ai/skills/kit")
        user.ok("add", "skill:acme/kit", "--yes")
        assert rules(user) == []
        user.write("rye.lock", user.path("rye.lock").read_text().replace(", executable = true", ""))
        (finding,) = [f for f in user.run("audit", "--json").json["findings"] if f["rule"] == "lock-mismatch"]
        assert finding["message"].endswith("contradicts the release of skill:acme/kit 1.0.0: attached.")

    def test_a_policy_that_was_tightened_is_about_what_is_installed_too(self, user: Person) -> None:
        user.ok("add", "acme/work/base", "--yes")
        manifest = user.path("rye.toml").read_text()
        for policy in ('minimum-release-age = "3d"', f'required-signers = ["SHA256:{"A" * 43}"]'):
            user.write("rye.toml", f"{manifest}\n[policy]\n{policy}\n")
            assert rules(user) == ["policy"]
        user.write("rye.toml", f'{manifest}\n[policy]\nminimum-release-age = "3d"\n')
        assert "younger than the policy's minimum-release-age (released " in user.run("audit").stdout

    def test_a_yank_and_a_deprecation_are_findings_and_a_locked_yank_goes_on(self, user: Person, acme: Person) -> None:
        acme.release("old/item")
        user.ok("add", "acme/old/item", "--yes")
        acme.ok("yank", "acme/old/item@1.0.0", "--reason", "It was wrong", "--yes")
        acme.ok("deprecate", "acme/old/item", "--reason", "It is old", "--yes")
        assert rules(user) == ["yanked", "deprecated"]
        user.path(".ai/packages/acme/directives/old/item.md").unlink()
        done = user.ok("install")
        assert "was yanked by its publisher: It was wrong" in done.stderr
        assert "deprecated: It is old" in done.stderr
        assert user.ok("ci").code == 0

    def test_a_revoked_key(self, registry: Registry, user: Person) -> None:
        author = registry.owner("leaky")
        author.release("work/item")
        user.ok("add", "leaky/work/item", "--yes")
        person = author
        person.ok("keys", "generate", "--name", "second")
        person.write("second.pem", person.ok("keys", "export", "second").stdout)
        person.ok("namespace", "keys", "add", "leaky", "second.pem")
        first = person.ok("keys", "list", "--json").json["keys"]
        fingerprint = next(key["fingerprint"] for key in first if key["name"] == "default")
        person.ok(
            "namespace",
            "revoke",
            *("leaky", fingerprint, "--from", "1", "--key", "default", "--key", "second", "--yes"),
        )
        assert rules(user) == ["revoked-key"]
        user.path(".ai/packages/leaky/directives/work/item.md").unlink()
        assert user.run("ci", "--json").error["code"] == "signer-revoked"

    def test_a_right_that_nobody_approved(self, user: Person, acme: Person) -> None:
        acme.release("right/item", permissions=SHELL)
        user.ok("add", "acme/right/item", *TOOLS, "--yes")
        lock = user.path("rye.lock")
        text = lock.read_text()
        start = text.index("approved = [")
        lock.write_text(text[:start] + text[start:].replace('  "rye.execute.tool.shell.run",\n', "", 1))
        assert rules(user) == ["unapproved-right"]

    def test_a_hook_that_nobody_approved(self, user: Person, acme: Person) -> None:
        acme.release("hook/item", hooks=(("cost.current > 3", "notify", "1"),))
        user.ok("add", "acme/hook/item", *TOOLS, "--yes")
        assert rules(user) == ["unapproved-hook"]
        user.ok("hooks", "approve", "acme/hook/item", "--yes")
        assert rules(user) == []

    def test_without_a_network_it_judges_by_what_is_known(self, user: Person) -> None:
        user.ok("add", "acme/work/base", "--yes")
        user.write(".ai/packages/acme/directives/work/base.md", "changed")
        assert rules(user, "--offline") == ["modified-file"]

    def test_a_registry_that_is_away_does_not_hide_what_was_found_on_disk(self, user: Person) -> None:
        user.ok("add", "acme/work/base", "--yes")
        user.write(".ai/packages/acme/directives/work/base.md", "changed")
        user.ok("cache", "clean")
        done = user.run("audit", "--json", "--offline")
        assert done.code == 1
        assert done.error["findings"][0]["rule"] == "modified-file"

    def test_sarif(self, user: Person) -> None:
        user.ok("add", "acme/work/top", "--yes")
        user.write(".ai/packages/acme/directives/work/base.md", "changed")
        user.write(".ai/packages/acme/a b#c.md", "planted")
        done = user.run("audit", "--sarif")
        assert done.code == 1
        found = done.json
        check_sarif(found)
        results = found["runs"][0]["results"]
        assert [result["ruleId"] for result in results] == ["modified-file", "extra-file"]
        places = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]
        assert places[1] == ".ai/packages/acme/a%20b%23c.md"
        assert user.run("audit", "--sarif", "--json").code == 2


class TestWhatCounts:
    """``--level``, ``[audit] ignore`` and ``--without`` (DESIGN 6.1)."""

    @pytest.mark.parametrize(("level", "code"), [(None, 0), ("error", 0), ("warning", 1), ("info", 1)])
    def test_a_level_says_what_fails_and_hides_nothing(self, warned: Person, level: str | None, code: int) -> None:
        words = ["--level", level] if level is not None else []
        done = warned.run("audit", "--json", *words)
        assert (done.code, done.json["ok"], done.json["level"]) == (code, code == 0, level or "error")
        assert [finding["rule"] for finding in done.json["findings"]] == ["yanked", "deprecated"]
        assert "warning[yanked]" in warned.run("audit", *words).stdout

    def test_an_unknown_level_is_a_usage_error(self, warned: Person) -> None:
        assert warned.run("audit", "--level", "note").code == 2

    def test_what_is_ignored_is_named_with_its_reason(self, warned: Person) -> None:
        before = warned.path("rye.toml").read_text()
        ignore = '{ id = "yanked:directive:acme/past/one", until = "2999-12-31", reason = "We move in spring" }'
        warned.write("rye.toml", f"{before}\n[audit]\nignore = [{ignore}]\n")
        try:
            done = warned.run("audit", "--json", "--level", "info").json
            assert [finding["rule"] for finding in done["findings"]] == ["deprecated"]
            [aside] = done["ignored"]
            assert (aside["rule"], aside["until"], aside["reason"]) == ("yanked", "2999-12-31", "We move in spring")
            assert "We move in spring" in warned.run("audit").stderr
            warned.write("rye.toml", warned.path("rye.toml").read_text().replace("2999", "2001"))
            found = warned.run("audit", "--json").json
            assert (len(found["findings"]), found["ignored"]) == (2, [])
            assert "until 2001-12-31" in found["findings"][0]["hint"]
        finally:
            warned.write("rye.toml", before)

    def test_a_rule_that_is_none_is_an_error(self, warned: Person) -> None:
        before = warned.path("rye.toml").read_text()
        ignore = '{ id = "yankd:directive:acme/past/one", until = "2999-12-31", reason = "x" }'
        warned.write("rye.toml", f"{before}\n[audit]\nignore = [{ignore}]\n")
        try:
            error = warned.run("audit", "--json").error
            assert error["code"] == "bad-manifest"
            assert "yanked" in error["hint"]
        finally:
            warned.write("rye.toml", before)

    def test_a_group_is_left_out(self, warned: Person) -> None:
        done = warned.run("audit", "--json", "--without", "dev").json
        assert [finding["rule"] for finding in done["findings"]] == ["yanked"]
        assert done["items"] == 1
        assert warned.run("audit", "--without", "nothing", "--json").refusal == "unknown-name group"

    def test_each_problem_of_the_lock_is_an_error_on_its_line(self, registry: Registry, acme: Person) -> None:
        user = registry.user()
        user.ok("add", "acme/work/top", "--yes")
        text = user.path("rye.lock").read_text()
        user.write("rye.lock", text.replace('dependencies = [\n  "directive:acme/work/base",\n]\n', ""))
        found = user.run("audit", "--json").json["findings"]
        assert ("G2", "error") in {(finding["rule"], finding["severity"]) for finding in found}
        results = user.run("audit", "--sarif").json["runs"][0]["results"]
        lines = [r["locations"][0]["physicalLocation"]["region"]["startLine"] for r in results if r["ruleId"] == "G2"]
        rows = user.path("rye.lock").read_text().split("\n")
        assert [rows[line - 1 : line + 2] for line in lines] == [
            ["[[item]]", 'kind = "directive"', 'id = "acme/work/top"'] for _ in lines
        ]

    def test_an_orphaned_override_is_named_by_all_who_look(self, registry: Registry, acme: Person) -> None:
        """D7: it passed ci, audit, doctor and override check."""
        user = registry.user()
        user.ok("add", "acme/work/top", "--yes")
        text = "---\nbase-agent: gone\nbase-version: 1.0.0\nlast-reviewed: 2026-01-01\n---\n"
        user.write(".ai/overrides/acme/work/gone.overrides.md", text)
        [finding] = user.run("audit", "--json").json["findings"]
        assert (finding["rule"], finding["severity"]) == ("customization-lapsed", "error")
        user.fails("ci", code="customization-lapsed")
        for command in ("audit", "ci", "check", "doctor"):
            done = user.run(command)
            assert done.code == 1
            assert "acme/work/gone" in done.stdout + done.stderr
        user.ok("list")
        user.path(".ai/overrides/acme/work/gone.overrides.md").unlink()
        for command in ("audit", "ci", "check", "doctor"):
            user.ok(command)


def check_sarif(log: Any) -> None:
    """Check what the SARIF 2.1.0 schema requires of a log that has only these parts."""
    assert set(log) == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    for run in log["runs"]:
        driver = run["tool"]["driver"]
        assert driver["name"] == "rye"
        names = [rule["id"] for rule in driver["rules"]]
        assert len(names) == len(set(names))
        assert all(rule["shortDescription"]["text"] for rule in driver["rules"])
        assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
        for result in run["results"]:
            assert names[result["ruleIndex"]] == result["ruleId"]
            assert result["level"] in ("none", "note", "warning", "error")
            assert result["message"]["text"]
            for location in result["locations"]:
                artifact = location["physicalLocation"]["artifactLocation"]
                assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", artifact["uri"])
                assert artifact["uriBaseId"] in run["originalUriBaseIds"]
                assert location["physicalLocation"]["region"]["startLine"] >= 1
        for rule in driver["rules"]:
            assert rule["help"]["text"]
            assert rule["help"]["markdown"]
            assert rule["defaultConfiguration"]["level"] in ("note", "warning", "error")
            assert 0 <= float(rule["properties"]["security-severity"]) <= 10


class TestSbom:
    def test_every_item_is_a_component_and_every_edge_a_dependency(self, user: Person) -> None:
        user.ok("add", "acme/work/top", "--yes")
        bom = user.ok("sbom").json
        assert (bom["bomFormat"], bom["specVersion"], bom["version"]) == ("CycloneDX", "1.6", 1)
        assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", bom["serialNumber"])
        components = {component["bom-ref"]: component for component in bom["components"]}
        assert len(components) == 2
        for component in components.values():
            assert component["purl"].startswith("pkg:generic/acme/directive/work/")
            assert re.fullmatch(r"[0-9a-f]{64}", component["hashes"][0]["content"])
            assert {"name": "rye:kind", "value": "directive"} in component["properties"]
        edges = {entry["ref"]: entry["dependsOn"] for entry in bom["dependencies"]}
        assert set(edges) == {"project:shop", *components}
        (top,) = edges["project:shop"]
        assert [components[ref]["name"] for ref in edges[top]] == ["base"]

    def test_a_components_group_and_name_are_its_purls(self, user: Person) -> None:
        user.ok("add", "acme/work/top", "--yes")
        for component in user.ok("sbom").json["components"]:
            assert component["purl"].startswith(f"pkg:generic/{component['group']}/{component['name']}@")
            assert (component["group"], component["name"]) in (
                ("acme/directive/work", "top"),
                ("acme/directive/work", "base"),
            )

    def test_the_same_lock_gives_the_same_document(self, user: Person) -> None:
        user.ok("add", "acme/work/top", "--yes")
        assert user.ok("sbom").stdout == user.ok("sbom").stdout
        assert "timestamp" not in user.ok("sbom").json["metadata"]
        dated = user.ok("sbom", env={"SOURCE_DATE_EPOCH": "0"}).json
        assert dated["metadata"]["timestamp"] == "1970-01-01T00:00:00Z"
        serial = "urn:uuid:12345678-1234-5678-1234-567812345678"
        given = user.ok("sbom", "--time", "2026-01-02T03:04:05Z", "--serial", serial).json
        assert (given["metadata"]["timestamp"], given["serialNumber"]) == ("2026-01-02T03:04:05Z", serial)
        user.ok("sbom", "-o", "bom.json")
        assert json.loads(user.path("bom.json").read_text()) == user.ok("sbom").json
        assert user.run("sbom", "--time", "yesterday").code == 2
        for epoch in ("9" * 20, "9" * 5000):
            assert (
                "SOURCE_DATE_EPOCH"
                in user.fails("sbom", code="bad-argument", exit_code=2, env={"SOURCE_DATE_EPOCH": epoch})["message"]
            )
        assert user.run("sbom", "--serial", "12").code == 2

    def test_without_a_lock_that_fits_it_refuses_or_says_so(self, user: Person) -> None:
        assert user.ok("sbom", "--json").json.get("components", []) == []
        assert "lists no items" in user.ok("sbom").stderr
        user.ok("add", "acme/work/base", "--yes")
        assert user.ok("sbom").stderr == ""
        manifest, lock = user.path("rye.toml"), user.path("rye.lock")
        manifest.write_text(re.sub(r'(acme/work/base" = ").*?"', r'\1*"', manifest.read_text()))
        assert "made for another rye.toml" in user.ok("sbom").stderr
        lock.unlink()
        error = user.fails("sbom", "-o", "bom.json", code="no-lock")
        assert "`rye install`" in error["hint"]
        assert not user.path("bom.json").exists()

    def test_spdx_names_the_same_things_and_edges(self, user: Person) -> None:
        user.ok("add", "acme/work/top", "--yes")
        serial = "urn:uuid:12345678-1234-5678-1234-567812345678"
        words = ("sbom", "--time", "2026-01-02T03:04:05Z", "--serial", serial)
        cyclone, spdx = user.ok(*words).json, user.ok(*words, "--format", "spdx").json
        assert (spdx["spdxVersion"], spdx["documentNamespace"]) == ("SPDX-2.3", serial)
        assert spdx["creationInfo"]["created"] == "2026-01-02T03:04:05Z"
        purls = {p["SPDXID"]: p["externalRefs"][0]["referenceLocator"] for p in spdx["packages"] if "externalRefs" in p}
        known = {component["purl"]: component for component in cyclone["components"]}
        assert set(purls.values()) == set(known)
        for package in spdx["packages"]:
            if package["SPDXID"] in purls:
                (sum_,) = package["checksums"]
                component = known[purls[package["SPDXID"]]]
                assert sum_["checksumValue"] == component["hashes"][0]["content"]
                assert package["name"] == f"{component['group']}/{component['name']}"
                assert package["supplier"] == "Organization: acme"
        depends = {
            (purls.get(edge["spdxElementId"], "project:shop"), purls[edge["relatedSpdxElement"]])
            for edge in spdx["relationships"]
            if edge["relationshipType"] == "DEPENDS_ON"
        }
        assert depends == {(row["ref"], ref) for row in cyclone["dependencies"] for ref in row["dependsOn"]}

    def test_spdx_without_a_time_says_so_and_stays_the_same(self, user: Person) -> None:
        user.ok("add", "acme/work/top", "--yes")
        words = ("sbom", "--format", "spdx")
        assert user.ok(*words).stdout == user.ok(*words).stdout
        creation = user.ok(*words).json["creationInfo"]
        assert creation["created"] == "1970-01-01T00:00:00Z"
        assert "No time was given" in creation["comment"]
        assert "comment" not in user.ok(*words, env={"SOURCE_DATE_EPOCH": "86400"}).json["creationInfo"]

    def test_no_condition_of_a_hook_adds_a_line_to_what_spdx_says(self, user: Person, acme: Person) -> None:
        when = 'error.type == "a\nrye:signer=SHA256:forged"'
        acme.release("work/forging", permissions=SHELL, hooks=((when, "notify", "x"),))
        user.ok("add", "acme/work/forging", *TOOLS, "--yes")
        [package] = [
            each for each in user.ok("sbom", "--format", "spdx").json["packages"] if each["name"].endswith("/forging")
        ]
        lines = package["comment"].splitlines()
        assert [line.partition("=")[0] for line in lines].count("rye:signer") == 1
        assert any("\\nrye:signer=SHA256:forged" in line for line in lines)


class TestCache:
    def test_it_says_where_and_how_much_and_can_be_emptied(self, user: Person) -> None:
        user.ok("add", "acme/work/top", "--yes")
        folder = Path(user.ok("cache", "dir").stdout.strip())
        assert folder == user.home / "cache" / "registry"
        info = user.ok("cache", "info", "--json").json
        assert (info["objects"] > 0, info["bytes"] > 0) == (True, True)
        assert user.ok("cache", "clean", "--json").json["objects"] == info["objects"]
        assert user.ok("cache", "info", "--json").json["objects"] == 0
        user.path(".ai/packages/acme/directives/work/base.md").unlink()
        user.ok("ci")

    def test_what_was_not_used_for_a_while_can_go(self, user: Person) -> None:
        user.ok("add", "acme/work/top", "--yes")
        old = time.time() - 40 * 86400
        objects = [path for path in (user.home / "cache/registry/objects").rglob("*") if path.is_file()]
        os.utime(objects[0], (old, old))
        assert user.ok("cache", "prune", "--json").json["objects"] == 1
        assert user.ok("cache", "prune", "--json").json["objects"] == 0
        assert user.run("cache", "prune", "--older-than", "soon").code == 2

    def test_it_is_shared_and_safe_under_concurrency(self, registry: Registry, user: Person) -> None:
        others = [registry.colleague(user) for _ in range(4)]
        for other in others:
            other.write("rye.toml", '[dependencies]\n"acme/work/top" = "*"\n')
        install = ("install", "--yes")
        for done in at_once(*((user.elsewhere(other.folder), install) for other in others)):
            assert done.code == 0, done.stderr
        assert len({other.path("rye.lock").read_bytes() for other in others}) == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_go_to_stdout(tmp_path: Path, shell: str) -> None:
    person = Person(tmp_path)
    done = person.ok("completion", shell)
    assert "_RYE_COMPLETE" in done.stdout
    assert person.run("completion", "tcsh").code == 2


def test_the_completion_script_works_in_bash(tmp_path: Path) -> None:
    person = Person(tmp_path)
    env = {**person.environment, "_RYE_COMPLETE": "bash_complete", "COMP_WORDS": "rye roll", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", "from rye.cli.main import main; main([])"],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "plain,rollback\n", done.stderr
