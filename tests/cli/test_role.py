"""``rye role`` (DECISIONS Role directives and formula overlays 1, 8, 12)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Program
from tests.scenes.shared_data import shared

pytestmark = pytest.mark.processes

AUTHORITY = "(operator policy — overrides formula where they conflict)"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    made = Program(tmp_path)
    made.write("rye.toml", "[project]\n")
    made.new("role", "clerk")
    return made


def user_directive(program: Program, text: str, role: str = "clerk") -> None:
    path = program.home / "ai" / "role-directives" / f"{role}.md"
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
    program: Program, user: str | None, project: str | None, expected: str
) -> None:
    if user is not None:
        user_directive(program, user)
    if project is not None:
        program.write(".ai/role-directives/clerk.md", project)
    for words in (["role", "show", "clerk"], ["role", "directive", "show", "clerk"]):
        assert program.ok(*words).stdout == expected
    sources = program.ok("role", "show", "clerk", "--json").json["sources"]
    assert [source["level"] for source in sources] == ["user", "project"]
    assert [source["found"] for source in sources] == [user is not None, project is not None]


def test_show_names_its_sources(program: Program) -> None:
    program.write(".ai/role-directives/clerk.md", "Rig.")
    shown = program.ok("role", "show", "clerk").stderr
    assert "# project: .ai/role-directives/clerk.md\n" in shown
    assert "role-directives/clerk.md (not found)" in shown


def test_an_unknown_role_says_what_was_meant(program: Program) -> None:
    for words in (["role", "show", "clrek"], ["role", "edit", "clrek"], ["prime", "clrek"]):
        result = program.run(*words, "--json", env={"EDITOR": "true"})
        assert (result.code, result.error["code"]) == (1, "unknown-role")
        assert "clerk" in result.error["hint"]
    assert not program.path(".ai/role-directives").exists()


def test_without_any_role_the_hint_makes_one(tmp_path: Path) -> None:
    program = Program(tmp_path)
    program.write("rye.toml", "[project]\n")
    for words in (["role", "show", "clerk"], ["prime", "clerk"]):
        result = program.run(*words, "--json")
        assert result.error["code"] == "unknown-role"
        assert result.error["hint"] == "There are no roles here. `rye new role clerk` makes one."


@pytest.mark.parametrize("name", ["../clerk", "a/b", ".", "", "Clerk", "clerk.md", "/etc/passwd", "nul", "a\x00b"])
@pytest.mark.parametrize("words", [["role", "show"], ["role", "edit"], ["prime"]])
def test_names_have_no_path_parts(program: Program, name: str, words: list[str]) -> None:
    result = program.run(*words, name, "--json", env={"EDITOR": "true"})
    assert (result.code, result.error["code"]) == (2, "bad-name")


def test_list(program: Program) -> None:
    program.write(".ai/role-directives/clerk.md", "x")
    program.write(".ai/role-directives/ghost.md", "x")
    roles = program.ok("role", "list", "--json").json["roles"]
    assert [(one["role"], one["space"], len(one["directives"])) for one in roles] == [
        ("clerk", "project", 1),
        ("ghost", None, 1),
    ]
    listed = program.ok("role", "directive", "list")
    assert listed.stdout.splitlines()[1] == "ghost\tproject\t.ai/role-directives/ghost.md"


def test_a_symlink_in_the_project_is_refused(program: Program, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("SECRET")
    program.path(".ai/role-directives").mkdir()
    program.path(".ai/role-directives/clerk.md").symlink_to(tmp_path / "secret")
    for words in (["role", "show", "clerk"], ["prime", "clerk"]):
        result = program.run(*words, "--json")
        assert (result.code, result.error["code"]) == (1, "symlink")


def test_edit_without_a_change_says_nothing(program: Program) -> None:
    before = program.ok("prime", "clerk").stdout
    assert program.ok("role", "edit", "clerk", env={"EDITOR": "true"}).stdout.startswith("created")
    assert program.ok("prime", "clerk").stdout == before


def test_edit_saves_and_refuses_hidden_text(program: Program) -> None:
    script = program.home / "ed"
    script.write_text('#!/bin/sh\nprintf "$TEXT" > "$1"\n')
    script.chmod(0o755)
    program.ok("role", "directive", "edit", "clerk", "--user", env={"EDITOR": str(script), "TEXT": "Be kind."})
    assert (program.home / "ai/role-directives/clerk.md").read_text() == "Be kind."
    hidden = {"EDITOR": str(script), "TEXT": "Be \u202e kind."}
    assert program.run("role", "edit", "clerk", "--user", env=hidden).code == 1
    assert (program.home / "ai/role-directives/clerk.md").read_text() == "Be kind."


def test_gastown_folders(program: Program, tmp_path: Path) -> None:
    town = tmp_path / "gt"
    for folder, text in ((town / "directives", "Town."), (town / "rig" / "directives", "Rig.")):
        folder.mkdir(parents=True)
        (folder / "polecat.md").write_text(text)
    words = ["--layout", "gastown", "--town", str(town), "--rig", "rig"]
    shown = program.ok("role", "show", "polecat", *words)
    assert shown.stdout == f"## Town & Rig Directives {AUTHORITY}\n\nTown.\nRig.\n"
    assert "rig/directives/polecat.md" in shown.stderr
    assert program.ok("prime", "polecat", *words).stdout == shown.stdout
    program.ok("role", "edit", "witness", *words, env={"EDITOR": "true"})
    assert (town / "rig/directives/witness.md").is_file()


@pytest.mark.corpus
def test_a_real_directive_is_passed_on_word_for_word(program: Program, tmp_path: Path) -> None:
    text = shared("corpus/gastown/polecat.md").read_text()
    (tmp_path / "gt" / "directives").mkdir(parents=True)
    (tmp_path / "gt" / "directives" / "polecat.md").write_text(text)
    shown = program.ok("role", "show", "polecat", "--layout", "gastown", "--town", str(tmp_path / "gt"), "--json")
    assert shown.json["text"] == text.strip()
