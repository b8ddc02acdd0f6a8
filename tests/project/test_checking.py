"""Validation from disk: findings from all layers, and one bad file never stops the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.items.agent.reader import template
from rye.items.reading import ReadOptions
from rye.project.checking import Checked, check_files
from rye.project.context import expand


def check(base: Path, *arguments: str, kind: str | None = None) -> list[Checked]:
    return check_files(expand(arguments, base), kind, ReadOptions())


def codes(checked: Checked) -> set[str]:
    return {finding.code for finding in checked.diagnostics if finding.severity == "error"}


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    folder = tmp_path / "agents"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.md").write_text(template(name))
    return folder


def test_a_set_is_checked_as_one_and_single_files_are_not(agents: Path) -> None:
    (agents / "one.md").write_text(template("one").replace("onSuccess: complete", "onSuccess: three"))
    one, two = check(agents.parent, "agents")
    assert codes(one)
    assert not codes(two)
    assert not codes(check(agents.parent, "agents/one.md")[0])


def test_kinds_of_one_folder_are_sets_of_their_own(agents: Path) -> None:
    (agents.parent / "knowledge/n").mkdir(parents=True)
    (agents.parent / "knowledge/n/bad.md").write_text("x")
    checked = check(agents.parent, ".")
    assert {entry.shown: bool(codes(entry)) for entry in checked} == {
        "agents/one.md": False,
        "agents/two.md": False,
        "knowledge/n/bad.md": True,
    }


def test_a_file_that_cannot_be_read_is_a_finding_beside_others(agents: Path) -> None:
    (agents / "loop.md").symlink_to("loop.md")
    bad, good = check(agents.parent, "agents/loop.md", "agents/one.md")
    assert (bad.item, codes(bad)) == (None, {"unreadable"})
    assert not codes(good)
    with pytest.raises(RyeError):
        check(agents.parent, "agents/loop.md")


def test_the_text_is_handed_on_for_excerpts(agents: Path) -> None:
    (checked,) = check(agents.parent, "agents/one.md")
    assert checked.text == template("one")
    (agents / "one.md").write_bytes(b"\xff")
    (broken,) = check(agents.parent, "agents/one.md")
    assert (broken.text, broken.kind, codes(broken)) == (None, "agent", {"C02"})


def test_findings_stand_in_the_order_of_the_file(agents: Path) -> None:
    (agents / "one.md").write_text(template("one").replace("name: one", "name: One\u200b").replace("Bash", "\u202e"))
    (checked,) = check(agents.parent, "agents/one.md")
    lines = [finding.line or 0 for finding in checked.diagnostics]
    assert lines == sorted(lines)
