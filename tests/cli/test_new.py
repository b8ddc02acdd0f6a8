"""``rye new``: a conforming file with only the necessary parts, never overwriting another."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.scenes.person import Person

PLACES = {
    "directive": ("workflows/deploy", ".ai/directives/workflows/deploy.md"),
    "tool": ("files/checksum", ".ai/tools/files/checksum.py"),
    "knowledge": ("concepts/trust", ".ai/knowledge/concepts/trust.md"),
    "agent": ("planner", ".ai/agents/planner.md"),
    "role": ("release-manager", ".ai/roles/release-manager.md"),
    "formula": ("tidy", ".ai/formulas/tidy.formula.toml"),
    "skill": ("pdf-tools", ".ai/skills/pdf-tools/SKILL.md"),
    "bundle": ("starter", ".ai/bundles/starter.bundle.toml"),
}


def in_project(folder: Path) -> Person:
    rye = Person(folder)
    rye.write("rye.toml", "")
    return rye


@pytest.mark.parametrize("link", [".ai", ".ai/tools", ".ai/tools/files"])
def test_nothing_is_written_through_a_link_that_was_committed(tmp_path: Path, link: str) -> None:
    rye, outside = in_project(tmp_path), tmp_path / "outside"
    outside.mkdir()
    rye.path(link).parent.mkdir(parents=True, exist_ok=True)
    rye.path(link).symlink_to(outside)
    result = rye.run("new", "tool", "files/checksum", "--json")
    assert result.error["code"] == ("linked-outside" if link == ".ai" else "symlink-in-the-way")
    assert link in result.error["message"]
    assert not list(outside.iterdir())


@pytest.mark.parametrize("kind", PLACES)
def test_every_kind_conforms_where_it_belongs_and_can_be_signed(tmp_path: Path, kind: str) -> None:
    rye = in_project(tmp_path)
    identifier, place = PLACES[kind]
    assert rye.ok("new", kind, identifier, "--json").json == {"kind": kind, "id": identifier, "path": place}
    assert rye.ok("validate", place, "--strict", "--json").json["results"][0]["ok"]
    rye.ok("keys", "generate")
    rye.ok("sign", place)
    rye.ok("verify", place)
    shown = rye.ok("show", place, "--json").json
    assert (shown["kind"], shown["id"]) == (kind, identifier)


def test_a_project_of_all_kinds_is_valid_as_a_set(tmp_path: Path) -> None:
    rye = in_project(tmp_path)
    for kind, (identifier, _) in PLACES.items():
        rye.ok("new", kind, identifier)
    assert len(rye.ok("validate", "--strict", "--json").json["results"]) == len(PLACES)


def test_what_is_new_begins_with_the_version_that_adopted_skills_get(tmp_path: Path) -> None:
    rye = in_project(tmp_path)
    for kind, (identifier, place) in PLACES.items():
        rye.ok("new", kind, identifier)
        given = re.findall(r"version\S* ?[:=] ?\"?([0-9.]+)", rye.path(place).read_text())
        assert set(given) <= {"0.1.0", "1"}, kind  # a formula's is that of its format
    rye.write("lent/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDF files.\n---\n\n# PDF\n\nRead it.\n")
    rye.ok("adopt", "lent/pdf")
    assert 'version: "0.1.0"' in rye.path(".ai/skills/pdf/SKILL.md").read_text()


def test_categories_may_be_nested(tmp_path: Path) -> None:
    rye = in_project(tmp_path)
    rye.ok("new", "directive", "team/release/ship_it")
    rye.ok("validate", ".ai/directives/team/release/ship_it.md", "--strict")


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    rye = in_project(tmp_path)
    path = rye.write(PLACES["directive"][1], "mine")
    result = rye.run("new", "directive", "workflows/deploy", "--json")
    assert (result.code, result.refusal) == (1, "already-exists file")
    assert path.read_text() == "mine"
    path.unlink()
    path.symlink_to("/nonexistent/target")
    assert rye.run("new", "directive", "workflows/deploy").code == 1


@pytest.mark.parametrize(
    ("kind", "identifier"),
    [
        ("directive", "deploy"),
        ("directive", "workflows/kebab-case"),
        ("directive", "../../etc/passwd"),
        ("directive", "Work/deploy"),
        ("directive", "workflows/nul"),
        ("agent", "team/planner"),
        ("agent", "9lives"),
        ("agent", "complete"),
        ("role", "snake_case"),
        ("skill", "snake_case"),
        ("skill", "a" * 65),
        ("tool", "files/"),
    ],
)
def test_a_name_that_the_format_refuses_is_refused(tmp_path: Path, kind: str, identifier: str) -> None:
    rye = in_project(tmp_path)
    result = rye.run("new", kind, identifier, "--json")
    assert result.code == 2
    assert result.error["message"]
    assert not rye.path(".ai").exists()


def test_an_unknown_kind_is_answered_with_the_nearest(tmp_path: Path) -> None:
    result = in_project(tmp_path).run("new", "directiv", "a/b", "--json")
    assert (result.code, result.refusal, result.error["hint"]) == (2, "unknown-name kind", "Did you mean 'directive'?")


def test_items_go_into_the_project_around_the_folder(tmp_path: Path) -> None:
    rye = in_project(tmp_path)
    rye.write("rye.toml", '[project]\nnamespace = "acme"\n')
    rye.path("src/deep").mkdir(parents=True)
    made = rye.ok("-C", "src/deep", "new", "directive", "workflows/deploy", "--json").json
    assert made["path"] == "../../.ai/directives/workflows/deploy.md"
    assert "<author>acme</author>" in rye.path(".ai/directives/workflows/deploy.md").read_text()


@pytest.mark.parametrize(
    ("kind", "typed", "example"),
    [
        ("skill", "Release_Notes", "rye new skill release-notes"),
        ("skill", "../../Etc", "rye new skill etc"),
        ("skill", "ß", "rye new skill release-notes"),
        ("skill", "team/PDF", "rye new skill pdf"),
        ("skill", "a" * 70, f"rye new skill {'a' * 64}"),
        ("directive", "Team/Ship It", "rye new directive team/ship_it"),
        ("directive", "Workflows/Clean-Up", "rye new directive workflows/clean_up"),
        ("directive", "workflows/clean-up", "rye new directive workflows/clean_up"),
        ("directive", "clean_up.md", "rye new directive workflows/clean_up"),
        ("directive", "Ship", "rye new directive workflows/ship"),
        ("directive", "$(id)/`x`", "rye new directive id/x"),
        ("directive", "team/9lives", "rye new directive workflows/release_notes"),
        ("tool", "Files/", "rye new tool workflows/files"),
        ("tool", "files/sum.py", "rye new tool files/sum"),
        ("agent", "complete", "rye new agent release-notes"),
        ("agent", "team/planner", "rye new agent planner"),
        ("role", "snake_case", "rye new role snake-case"),
        ("formula", "nul", "rye new formula release-notes"),
        ("knowledge", "a/" * 20 + "b", "rye new knowledge workflows/release-notes"),
    ],
)
def test_a_bad_id_is_answered_with_one_that_is_good(tmp_path: Path, kind: str, typed: str, example: str) -> None:
    """The hint's command is run, and what it writes is valid."""
    rye = in_project(tmp_path)
    error = rye.run("new", kind, typed, "--json").error
    assert error["code"] == "bad-argument"
    assert error["hint"].endswith(f"E.g. `{example}`.")
    written = rye.ok(*example.split()[1:], "--json").json["path"]
    rye.ok("validate", written, "--strict")


def test_a_category_where_none_belongs_is_refused_in_plain_words(tmp_path: Path) -> None:
    error = in_project(tmp_path).run("new", "agent", "team/planner", "--json").error
    assert error["message"] == "The id of an agent has no category: the file goes directly into .ai/agents."


@pytest.mark.parametrize("command", [("new", "directive", "work/ship"), ("adopt", "../skills")])
def test_outside_a_project_nothing_is_written_and_the_next_command_is_named(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    rye = Person(tmp_path)
    rye.write(
        "../skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDF files.\n---\n\n# PDF\n\nRead the file.\n"
    )
    result = rye.run(*command, "--json")
    assert (result.code, result.error["code"]) == (1, "no-project")
    assert "`rye init`" in result.error["hint"]
    assert not rye.path(".ai").exists()
    rye.ok("init")
    rye.ok(*command)


def test_init_names_the_file_as_seen_from_the_folder_it_runs_in(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    assert rye.ok("init", "inside").stdout == "created inside/rye.toml\n"
    outside = tmp_path / "outside"
    assert rye.ok("init", str(outside)).stdout == f"created {outside}/rye.toml\n"
