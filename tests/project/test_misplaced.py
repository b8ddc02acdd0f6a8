"""Items in folders that Rye does not read are named by `validate`, `sign` and `check`, as warnings (days 6, newcomer M9)."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.limits import PROJECT
from tests.scenes.person import Person

SKILL = """---
name: {name}
description: Reads PDF files. Use it for them.
metadata:
  version: "1.0.0"
---

# PDF

Read the file.
"""


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    made = Person(tmp_path)
    made.write("rye.toml", '[project]\nnamespace = "acme"\n')
    return made


def skill(rye: Person, folder: str) -> None:
    rye.write(f"{folder}/SKILL.md", SKILL.format(name=folder.rpartition("/")[2]))


def own(rye: Person) -> None:
    rye.ok("keys", "generate")
    rye.ok("new", "skill", "mine")


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("skills/pdf", "skills/pdf/SKILL.md lies outside .ai/skills, so Rye does not read it."),
        ("skills/team/pdf", "skills/team/pdf/SKILL.md lies outside .ai/skills"),
        (".ai/skill/pdf", ".ai/skill/pdf/SKILL.md lies outside .ai/skills"),
        (".ai/pdf", ".ai/pdf/SKILL.md lies outside .ai/skills"),
        (".ai/skills/team/pdf", ".ai/skills/team/pdf/SKILL.md is not in a folder directly below .ai/skills"),
        (".ai/skills", ".ai/skills/SKILL.md is not in a folder directly below .ai/skills"),
    ],
)
def test_a_skill_in_the_wrong_place_is_named_and_nothing_fails(rye: Person, folder: str, said: str) -> None:
    own(rye)
    skill(rye, folder)
    for command in (("validate",), ("sign",)):
        assert f"warning: {said}" in rye.ok(*command).stderr
    shown = rye.ok("check", "--json").json["checks"]
    (rules,) = [each for each in shown if each["name"] == "validate"]
    assert said in rules["message"]
    assert rules["status"] == "warning"


def test_signing_it_by_name_says_that_rye_does_not_read_it(rye: Person) -> None:
    own(rye)
    skill(rye, "skills/pdf")
    for named in ("skills/pdf/SKILL.md", "skills/pdf", "skills"):
        assert "skills/pdf/SKILL.md lies outside .ai/skills" in rye.ok("sign", named).stderr
    assert "lies outside" not in rye.ok("sign", ".ai/skills/mine").stderr


def test_moving_it_as_the_hint_says_ends_the_warning(rye: Person) -> None:
    skill(rye, ".ai/skill/pdf")
    result = rye.run("validate")
    assert (result.code, "hint: Move .ai/skill/pdf to .ai/skills/pdf." in result.stderr) == (1, True)
    rye.path(".ai/skills").mkdir()
    rye.path(".ai/skill/pdf").rename(rye.path(".ai/skills/pdf"))
    result = rye.ok("validate")
    assert ("1 item valid" in result.stdout, "lies outside" in result.stderr) == (True, False)


def test_copying_it_as_the_hint_says_ends_the_warning(rye: Person) -> None:
    skill(rye, "skills/pdf")
    assert "`rye adopt skills/pdf`" in rye.run("validate").stderr
    rye.ok("adopt", "skills/pdf", "--yes")
    assert "lies outside" not in rye.ok("validate").stderr


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (".ai/agent/planner.md", ".ai/agents/planner.md"),
        (".ai/directive/workflows/ship.md", ".ai/directives/workflows/ship.md"),
        (".ai/tols/files/sum.py", ".ai/tools/files/sum.py"),
    ],
)
def test_files_of_other_kinds_are_named_in_a_folder_that_is_almost_theirs(rye: Person, path: str, wanted: str) -> None:
    rye.write(path, "text")
    assert f"Move {path} to {wanted}." in rye.run("validate").stderr
    (rules,) = [each for each in rye.run("check", "--json").json["checks"] if each["name"] == "validate"]
    assert (rules["status"], rules["message"].split("\n")[0]) == ("warning", "no items of your own")


@pytest.mark.parametrize(
    "path",
    [
        ".claude/skills/pdf/SKILL.md",
        ".agents/skills/pdf/SKILL.md",
        "agents/planner.md",
        ".ai/notes/planner.md",
        ".ai/skill/README.md",
        ".ai/overrides/x.overrides.md",
        ".ai/skills/mine/examples/SKILL.md",
        "vendor/skills/pdf/SKILL.md",
    ],
)
def test_what_is_not_meant_for_rye_is_left_out(rye: Person, path: str) -> None:
    own(rye)
    rye.write(path, SKILL.format(name="pdf"))
    assert "does not read it" not in rye.run("validate").stderr


def test_a_source_of_the_project_and_a_named_path_are_left_out(rye: Person) -> None:
    own(rye)
    skill(rye, "skills/pdf")
    assert "does not read it" in rye.ok("validate").stderr
    assert "does not read it" not in rye.ok("validate", ".ai/skills/mine").stderr
    rye.write("rye.toml", '[project]\nnamespace = "acme"\n\n[sources]\nkit = { path = "skills" }\n')
    assert "does not read it" not in rye.ok("validate").stderr


def test_links_are_not_followed_and_much_is_not_listed(rye: Person, tmp_path: Path) -> None:
    own(rye)
    outside = tmp_path.parent / "elsewhere"
    (outside / "pdf").mkdir(parents=True)
    (outside / "pdf" / "SKILL.md").write_text(SKILL.format(name="pdf"))
    rye.path("skills").symlink_to(outside)
    assert "does not read it" not in rye.ok("validate").stderr
    rye.path("skills").unlink()
    for number in range(PROJECT.misplaced_items + 5):
        skill(rye, f"skills/pdf-{number}")
    assert rye.ok("validate").stderr.count("does not read it") == PROJECT.misplaced_items


def test_a_name_cannot_imitate_a_line_of_ours(rye: Person) -> None:
    own(rye)
    skill(rye, "skills/a\nwarning: all is well\u202e")
    said = rye.ok("validate").stderr
    assert "does not read it" in said
    assert not any(line.startswith("warning: all is well") for line in said.splitlines())
    assert "\u202e" not in said
