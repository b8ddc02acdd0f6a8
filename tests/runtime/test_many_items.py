"""What a search of a run costs among many items: what the user agreed to is parsed as often as for few, and rows that were never
verified here are verified together.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rye.consent import memory
from rye.runtime.project_items import ProjectItems
from rye.storage.verdicts import VERDICTS
from rye.workspace.trusting import row_verification
from tests.scenes.item_texts import skill
from tests.scenes.person import Person

NUMBERS = [3, 12]


def project(folder: Path, number: int) -> Person:
    """A project with so many skills of a folder."""
    made = Person(folder, "shop")
    for each in range(number):
        made.write(f"../kit/skills/s{each}/SKILL.md", skill(f"s{each}", description=f"Does work {each}."))
    made.ok("add", "../kit", "--all", "--as", "team", "-y")
    return made


@pytest.mark.parametrize("number", NUMBERS)
def test_what_was_agreed_to_is_parsed_once(tmp_path: Path, number: int) -> None:
    person = project(tmp_path, number)
    items = ProjectItems(person.library, person.project)
    memory._parsed.cache_clear()
    assert len(items.search("skill", "work")) == number
    assert memory._parsed.cache_info().misses == 1


@pytest.mark.parametrize("number", NUMBERS)
def test_what_was_never_verified_here_is_verified_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    person = project(tmp_path, number)
    (found,) = person.home.rglob(VERDICTS)
    found.unlink()
    verified: list[int] = []
    real = row_verification.verify_rows

    def counted(context: Any, project: Any, rows: Sequence[Any]) -> Any:
        verified.append(len(rows))
        return real(context, project, rows)

    monkeypatch.setattr(row_verification, "verify_rows", counted)
    assert len(ProjectItems(person.library, person.project).search("skill", "work")) == number
    assert verified == [1, number - 1]
