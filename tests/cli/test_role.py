"""``rye role`` (DECISIONS Role directives and formula overlays 1, 8, 12)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenes.person import Person
from tests.scenes.shared_data import shared

pytestmark = pytest.mark.processes

AUTHORITY = "(operator policy — overrides formula where they conflict)"


@pytest.fixture
def person(tmp_path: Path) -> Person:
    made = Person(tmp_path)
    made.write("rye.toml", "[project]\n")
    made.new("role", "clerk")
    return made


def user_directive(person: Person, text: str, role: str = "clerk") -> None:
    path = person.home / "ai" / "role-directives" / f"{role}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("user", "project", "expected"),
    [
        (None, "\n  Rig.\n\n", f"## Rig Directives {AUTHORITY}\n\nRig.\n"),
        ("Town.\r\n", None, f"## Town Directives {AUTHORITY}\n\nTown.\n"),
        ("Town.\n\n", "\n\nRig.\n", f"## Town & Rig Directives {AUTHORITY}\n\nTown.\nRig.\n"),
        ("  \n", "Rig.", f"## Rig Directives {AUTHORITY}\n\nRig.\n"),
        ("Town.", "\n", f"## Town Directives {AUTHORITY}\n\nTown.\n"),
        (None, None, ""),
    ],
)
def test_show_joins_the_user_s_and_the_project_s(
    person: Person, user: str | None, project: str | None, expected: str
) -> None:
    if user is not None:
        user_directive(person, user)
    if project is not None:
        person.write(".ai/role-directives/clerk.md", project)
    for words in (["role", "show", "clerk"], ["role", "directive", "show", "clerk"]):
        assert person.ok(*words).stdout == expected
    sources = person.ok("role", "show", "clerk", "--json").json["sources"]
    assert [source["level"] for source in sources] == ["user", "project"]
    assert [source["found"] for source in sources] == [user is not None, project is not None]


def test_show_names_its_sources(person: Person) -> None:
    person.write(".ai/role-directives/clerk.md", "Rig.")
    shown = person.ok("role", "show", "clerk").stderr
    assert "# project: .ai/role-directives/clerk.md\n" in shown
    assert "role-directives/clerk.md (not found)" in shown


def test_an_unknown_role_says_what_was_meant(person: Person) -> None:
    for words in (["role", "show", "clrek"], ["role", "edit", "clrek"], ["prime", "clrek"]):
        result = person.run(*words, "--json", env={"EDITOR": "true"})
        assert (result.code, result.refusal) == (1, "no-such-entry role")
        assert "clerk" in result.error["hint"]
    assert not person.path(".ai/role-directives").exists()


def test_without_any_role_the_hint_makes_one(tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.write("rye.toml", "[project]\n")
    for words in (["role", "show", "clerk"], ["prime", "clerk"]):
        result = person.run(*words, "--json")
        assert result.refusal == "no-such-entry role"
        assert result.error["hint"] == "There are no roles here. `rye new role clerk` makes one."


@pytest.mark.parametrize("name", ["../clerk", "a/b", ".", "", "Clerk", "clerk.md", "/etc/passwd", "nul", "a\x00b"])
@pytest.mark.parametrize("words", [["role", "show"], ["role", "edit"], ["prime"]])
def test_names_have_no_path_parts(person: Person, name: str, words: list[str]) -> None:
    result = person.run(*words, name, "--json", env={"EDITOR": "true"})
    assert (result.code, result.refusal) == (2, "bad-argument item name")


def test_list(person: Person) -> None:
    person.write(".ai/role-directives/clerk.md", "x")
    person.write(".ai/role-directives/ghost.md", "x")
    roles = person.ok("role", "list", "--json").json["roles"]
    assert [(one["role"], one["space"], len(one["directives"])) for one in roles] == [
        ("clerk", "project", 1),
        ("ghost", None, 1),
    ]
    listed = person.ok("role", "directive", "list")
    assert listed.stdout.splitlines()[1] == "ghost\tproject\t.ai/role-directives/ghost.md"


def test_a_symlink_in_the_project_is_refused(person: Person, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("SECRET")
    person.path(".ai/role-directives").mkdir()
    person.path(".ai/role-directives/clerk.md").symlink_to(tmp_path / "secret")
    for words in (["role", "show", "clerk"], ["prime", "clerk"]):
        result = person.run(*words, "--json")
        assert (result.code, result.error["code"]) == (1, "symlink")


def test_edit_without_a_change_says_nothing(person: Person) -> None:
    before = person.ok("prime", "clerk").stdout
    assert person.ok("role", "edit", "clerk", env={"EDITOR": "true"}).stdout.startswith("created")
    assert person.ok("prime", "clerk").stdout == before


def test_edit_saves_and_refuses_hidden_text(person: Person) -> None:
    script = person.home / "ed"
    script.write_text('#!/bin/sh\nprintf "$TEXT" > "$1"\n')
    script.chmod(0o755)
    person.ok("role", "directive", "edit", "clerk", "--user", env={"EDITOR": str(script), "TEXT": "Be kind."})
    assert (person.home / "ai/role-directives/clerk.md").read_text() == "Be kind."
    hidden = {"EDITOR": str(script), "TEXT": "Be \u202e kind."}
    assert person.run("role", "edit", "clerk", "--user", env=hidden).code == 1
    assert (person.home / "ai/role-directives/clerk.md").read_text() == "Be kind."


def test_gastown_folders(person: Person, tmp_path: Path) -> None:
    town = tmp_path / "gt"
    for folder, text in ((town / "directives", "Town."), (town / "rig" / "directives", "Rig.")):
        folder.mkdir(parents=True)
        (folder / "polecat.md").write_text(text)
    words = ["--layout", "gastown", "--town", str(town), "--rig", "rig"]
    shown = person.ok("role", "show", "polecat", *words)
    assert shown.stdout == f"## Town & Rig Directives {AUTHORITY}\n\nTown.\nRig.\n"
    assert "rig/directives/polecat.md" in shown.stderr
    assert person.ok("prime", "polecat", *words).stdout == shown.stdout
    person.ok("role", "edit", "witness", *words, env={"EDITOR": "true"})
    assert (town / "rig/directives/witness.md").is_file()


@pytest.mark.corpus
def test_a_real_directive_is_passed_on_word_for_word(person: Person, tmp_path: Path) -> None:
    text = shared("corpus/gastown/polecat.md").read_text()
    (tmp_path / "gt" / "directives").mkdir(parents=True)
    (tmp_path / "gt" / "directives" / "polecat.md").write_text(text)
    shown = person.ok("role", "show", "polecat", "--layout", "gastown", "--town", str(tmp_path / "gt"), "--json")
    assert shown.json["text"] == text.strip()
