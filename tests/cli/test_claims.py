"""Nothing in a repository counts unverified (DESIGN 6.1): committed locks and installed files, through the program."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from hashlib import sha256

import pytest

from rye.project.lock import Lock, LockedItem, lock_text, parse_lock
from tests.scenes.approvals import but, changed
from tests.scenes.directive_text import SHELL
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

TOP = ".ai/packages/acme/directives/work/top.md"
SCRIPT = ".ai/packages/acme/skills/pdf/scripts/read.py"
SKILL = """---
name: pdf
description: Reads documents. Use it for documents.
metadata:
  version: "1.0.0"
---

Run scripts/read.py.
"""


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    author.release("work/base", "1.0.0")
    author.release("work/base", "1.1.0")
    author.release("work/base", "2.0.0")
    author.release("work/top", depends=(("acme/work/base", "^1.0"),), hooks=(("cost.current > 3", "notify", "1"),))
    author.release("work/other", permissions=SHELL)
    author.release("work/enemy", conflicts=(("acme/work/other", "*"),))
    author.write(".ai/skills/pdf/SKILL.md", SKILL)
    author.write(".ai/skills/pdf/scripts/read.py", "print(1)\n").chmod(0o755)
    author.ok("sign", ".ai/skills/pdf")
    author.publish(".ai/skills/pdf")
    return author


@pytest.fixture
def team(registry: Registry, acme: Person) -> Person:
    """Someone who installed everything and commits it all, including installed files."""
    user = registry.user()
    user.ok("add", "acme/work/top", "acme/work/other", "skill:acme/pdf", "--yes")
    user.ok("hooks", "approve", "acme/work/top", "--yes")
    return user


def clone(registry: Registry, team: Person, *, trusts: bool = True) -> Person:
    """Another person's clone on another machine; they pinned the registry. ``trusts``: everyone with commit access."""
    other = registry.user()
    if trusts:
        other.environment["RYE_TRUST_LOCK"] = "1"
    shutil.rmtree(other.folder)
    shutil.copytree(team.folder, other.folder, ignore=shutil.ignore_patterns(".rye"))
    return other


def edit(
    person: Person, change: Callable[[LockedItem], LockedItem | None], wanted: dict[str, str] | None = None
) -> None:
    """Edit rye.lock, keeping its canonical form."""
    path = person.path("rye.lock")
    lock = parse_lock(path.read_text())
    items = tuple(item for item in map(change, lock.items) if item is not None)
    path.write_text(lock_text(Lock(wanted if wanted is not None else lock.wanted, items)))


def of(name: str, **words: object) -> Callable[[LockedItem], LockedItem]:
    return lambda item: changed(item, **words) if item.id == name else item


def codes(person: Person, *commands: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for command in commands:
        result = person.run(*command, "--json")
        found[" ".join(command)] = result.error["code"] if result.code else "ok"
    return found


INSTALLING = (("ci",), ("install",), ("install", "--locked"), ("install", "--frozen"))
READING = (
    ("render", "acme/work/top"),
    ("show", "acme/work/top"),
    ("permissions", "show", "acme/work/top"),
    ("hooks", "list", "acme/work/top"),
)


class TestForgedBytesWithAFittingLock:
    """Edit an installed file, put its new hash and size into rye.lock, commit, clone."""

    @pytest.fixture(params=rest_thorough(1, ["steps", "rights", "no signature"]))
    def forged(self, request: pytest.FixtureRequest, team: Person) -> Person:
        path = team.path(TOP)
        text = path.read_text()
        if request.param == "steps":
            text = text.replace("Do the work", "Do other work")
        elif request.param == "rights":
            text = text.replace("</permissions>", "<execute>*</execute></permissions>")
        else:
            text = text.partition("\n")[2]
        assert text != path.read_text()
        path.write_text(text)
        data = text.encode()
        edit(team, of("acme/work/top", sha256=sha256(data).hexdigest(), size=len(data)))
        return team

    def test_no_installation_and_no_reader_takes_it(self, registry: Registry, forged: Person) -> None:
        for victim in (clone(registry, forged), forged):
            found = codes(victim, *INSTALLING, *READING)
            assert set(found.values()) == {"release-changed"}, found
            states = {row["id"]: row["state"] for row in victim.ok("list", "--json").json["items"]}
            assert states["acme/work/top"] == "unverified"
            assert victim.run("audit").code == 1

    def test_without_a_network_nothing_takes_it_either(self, registry: Registry, forged: Person) -> None:
        victim = clone(registry, forged)
        found = codes(victim, *((*command, "--offline") for command in READING))
        assert set(found.values()) == {"unverified-item"}


class TestVerifiedHere:
    def test_a_fresh_clone_is_unverified_until_this_user_s_rye_looked(self, registry: Registry, team: Person) -> None:
        other = clone(registry, team)
        rows = other.ok("list", "--json").json["items"]
        assert {row["state"] for row in rows} == {"unverified"}
        error = other.run("render", "acme/work/top", "--offline", "--json").error
        assert (error["code"], "`rye install`" in error["hint"]) == ("unverified-item", True)
        assert "rye.lock names it, but rye has not verified it" in error["message"]
        other.ok("render", "acme/work/top")  # verified now, with the network
        other.ok("render", "acme/work/top", "--offline")
        states = {row["id"]: row["state"] for row in other.ok("list", "--json").json["items"]}
        assert (states["acme/work/top"], states["acme/work/other"]) == ("ok", "unverified")

    def test_trusted_state_and_cache_suffice_where_the_memory_is_gone(self, team: Person) -> None:
        (team.home / "data/verdicts.sqlite").unlink()
        team.ok("render", "acme/work/top", "--offline")

    def test_an_unpinned_registry_verifies_nothing_and_the_hint_pins_it(self, registry: Registry, team: Person) -> None:
        other = clone(registry, team)
        other.ok("registry", "remove", registry.url, "--forget-trusted-history")
        error = other.run("render", "acme/work/top", "--registry", registry.url, "--json").error
        assert error["code"] == "unverified-item"
        assert f"--fingerprint {registry.fingerprint}" in error["hint"]

    @pytest.mark.parametrize(
        ("what", "words"),
        rest_thorough(
            1,
            [
                ("size", {"size": 1}),
                ("log position", {"log": 3}),
                ("keyset", {"keyset": 2}),
                ("signer", {"signer": "SHA256:" + "A" * 43}),
                ("version", {"version": "1.0.1"}),
            ],
        ),
    )
    def test_a_row_that_is_not_its_release_s(
        self, registry: Registry, team: Person, what: str, words: dict[str, object]
    ) -> None:
        """Over installed files, whose bytes are the signed ones."""
        edit(team, of("acme/work/top", **words))
        for person in (team, clone(registry, team)):
            found = codes(person, *INSTALLING)
            assert set(found.values()) == {"lock-mismatch"}, found
            assert person.run("render", "acme/work/top", "--json").error["code"] == "lock-mismatch"
            findings = person.run("audit", "--json").json["findings"]
            assert {"lock-mismatch", "changed-release"} & {finding["rule"] for finding in findings}

    def test_an_executable_flag_of_the_lock(self, team: Person) -> None:
        lock = team.path("rye.lock")
        lock.write_text(lock.read_text().replace(", executable = true", ""))
        team.path(SCRIPT).chmod(0o644)
        assert set(codes(team, *INSTALLING).values()) == {"lock-mismatch"}

    @pytest.mark.skipif(os.name != "posix", reason="executable bits are POSIX's")
    @pytest.mark.parametrize(("path", "mode"), [(TOP, 0o755), (SCRIPT, 0o644)])
    @pytest.mark.parametrize("verb", rest_thorough(1, ["ci", "install"]))
    def test_an_executable_bit_on_disk_is_reported_and_set_right(
        self, team: Person, path: str, mode: int, verb: str
    ) -> None:
        before = team.path(path).stat().st_mode
        team.path(path).chmod(mode)
        states = {row["state"] for row in team.ok("list", "--json").json["items"]}
        assert states == {"ok", "wrong-flag"}
        [finding] = [f for f in team.run("audit", "--json").json["findings"] if f["severity"] == "error"]
        assert (finding["rule"], finding["path"]) == ("wrong-flag", path)
        if verb == "ci":
            error = team.fails("ci", code="edited-files")
            assert [(file["path"], file["state"]) for file in error["files"]] == [(path, "wrong-flag")]
            assert team.path(path).stat().st_mode != before
            verb = "install"
        assert path in team.ok(verb).stderr
        assert team.path(path).stat().st_mode == before


class TestComplete:
    """G1 … G6 through the program: `lock --check`, `ci`, `--locked`, `--frozen`, `audit` fail; a plain `install` repairs."""

    LOCKED = (("ci",), ("install", "--locked"), ("install", "--frozen"))

    def refused(self, person: Person, rule: str, item: str) -> None:
        before = person.path("rye.lock").read_bytes()
        checked = person.run("lock", "--check", "--json")
        assert checked.code == 1
        assert not checked.json["fits"]
        problem = next(row for row in checked.json["problems"] if (row["rule"], row["item"]) == (rule, item))
        assert problem.keys() == {"rule", "item", "message", "chain"}
        for command in self.LOCKED:
            error = person.run(*command, "--json").error
            assert error["code"] == "lock-does-not-fit", command
            assert f"{rule} {item}" in error["message"]
        findings = person.run("audit", "--json").json["findings"]
        assert ("lock-does-not-fit", rule, "error") in {(f.get("code"), f["rule"], f["severity"]) for f in findings}
        assert person.path("rye.lock").read_bytes() == before

    def repaired(self, person: Person, before: bytes) -> None:
        person.ok("install", "--yes")
        assert person.path("rye.lock").read_bytes() == before
        person.ok("lock", "--check")
        person.ok("ci")

    @pytest.mark.parametrize("installed", [True, False])
    def test_G2_an_item_that_a_merge_lost(self, registry: Registry, team: Person, installed: bool) -> None:
        before = team.path("rye.lock").read_bytes()
        edit(team, lambda item: None if item.id == "acme/work/base" else item)
        if not installed:
            shutil.rmtree(team.path(".ai/packages"))
        else:
            team.path(".ai/packages/acme/directives/work/base.md").unlink()
        for person in (team, clone(registry, team)):
            self.refused(person, "G2", "directive:acme/work/top")
        self.repaired(team, before)

    def test_G1_a_direct_dependency_that_was_dropped(self, team: Person) -> None:
        before = team.path("rye.lock").read_bytes()
        edit(team, lambda item: None if item.id == "acme/work/other" else item)
        self.refused(team, "G1", "acme/work/other")
        error = team.run("install", "--no-input", "--json").error
        assert error["code"] == "consent-needed"  # what a repair restores needs agreement like anything new
        self.repaired(team, before)

    def test_G1_the_manifest_and_wanted_over_an_old_version(self, team: Person) -> None:
        manifest = team.path("rye.toml")
        manifest.write_text(manifest.read_text().replace('"acme/work/top" = "^1.0.0"', '"acme/work/top" = "^2"'))
        wanted = {**parse_lock(team.path("rye.lock").read_text()).wanted, "acme/work/top": "^2"}
        edit(team, lambda item: item, wanted)
        self.refused(team, "G1", "acme/work/top")

    def test_G2_emptied_dependencies(self, team: Person) -> None:
        before = team.path("rye.lock").read_bytes()
        edit(team, of("acme/work/top", dependencies=()))
        self.refused(team, "G2", "directive:acme/work/top")
        self.repaired(team, before)

    def test_G3_changed_groups_do_not_leave_a_main_item_out(self, team: Person) -> None:
        before = team.path("rye.lock").read_bytes()
        edit(team, of("acme/work/base", groups=("dev",)))
        self.refused(team, "G3", "directive:acme/work/base")
        self.repaired(team, before)

    def test_G4_an_item_that_nobody_needs(self, registry: Registry, team: Person) -> None:
        before = team.path("rye.lock").read_bytes()
        stray = registry.user()
        stray.ok("add", "acme/work/enemy", "--yes")
        [row] = [item for item in parse_lock(stray.path("rye.lock").read_text()).items if "enemy" in item.id]
        lock = parse_lock(before.decode())
        team.path("rye.lock").write_text(lock_text(Lock(lock.wanted, (*lock.items, row))))
        self.refused(team, "G4", "directive:acme/work/enemy")
        self.repaired(team, before)

    def test_G5_an_approval_beyond_the_item(self, team: Person) -> None:
        """Its next version would request `rye.*` without a question."""
        before = team.path("rye.lock").read_bytes()
        edit(team, of("acme/work/base", approved=but(right=("rye.*",))))
        self.refused(team, "G5", "directive:acme/work/base")
        self.repaired(team, before)

    def test_G6_two_items_that_exclude_each_other_change_nothing(self, registry: Registry, team: Person) -> None:
        stray = registry.user()
        stray.ok("add", "acme/work/enemy", "--yes")
        theirs = parse_lock(stray.path("rye.lock").read_text())
        manifest = team.path("rye.toml")
        manifest.write_text(manifest.read_text() + '"acme/work/enemy" = "^1.0.0"\n')
        ours = parse_lock(team.path("rye.lock").read_text())
        merged = Lock({**ours.wanted, **theirs.wanted}, (*ours.items, *theirs.items))
        team.path("rye.lock").write_text(lock_text(merged))
        self.refused(team, "G6", "directive:acme/work/enemy")
        before = team.path("rye.lock").read_bytes()
        for verb in (("install", "--yes"), ("lock",)):
            assert team.run(*verb, "--json").error["code"] == "lock-does-not-fit"
        assert team.path("rye.lock").read_bytes() == before


class TestFrozenWritesAndApprovesNothing:
    @pytest.mark.parametrize(
        "verb",
        rest_thorough(
            2, [(("ci",),), (("install", "--frozen", "--yes"),), (("ci", "--yes"),), (("install", "--frozen"),)]
        ),
    )
    def test_a_lock_that_approves_too_little_is_an_error(
        self, registry: Registry, team: Person, verb: tuple[str, ...]
    ) -> None:
        path = team.path("rye.lock")
        path.write_text(re.sub(r"(?ms)^approved = \[\n.*?^\]\n", "", path.read_text()))
        other = clone(registry, team)
        before = {name: other.path(name).read_bytes() for name in ("rye.toml", "rye.lock")}
        assert other.run(*verb, "--json").error["code"] == "consent-needed"
        assert {name: other.path(name).read_bytes() for name in before} == before

    def test_a_lock_in_another_form_stays_as_it_is(self, registry: Registry, team: Person) -> None:
        path = team.path("rye.lock")
        path.write_text(path.read_text() + "\n# a person's remark\n")
        other = clone(registry, team)
        shutil.rmtree(other.path(".ai/packages"))
        other.ok("ci")
        assert other.path("rye.lock").read_bytes() == path.read_bytes()
