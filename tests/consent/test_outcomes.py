"""What needs a yes, who is asked, and how each command ends (DESIGN 6.1, DESIGN 7): the whole table, row by row."""

from __future__ import annotations

import pytest

from tests.consent.outcomes import TABLE, Case, cases, row
from tests.consent.scene import World
from tests.scenes.effort import rest_thorough

_ROWS = {text.partition(" (")[0]: text for text in TABLE.read_text("utf-8").removesuffix("\n").split("\n\n")}
_PLAIN = ("right",)
"""The sorts of which ``make test`` plays every row."""


def alike(case: Case) -> tuple[str, ...]:
    """What rows share that end for the same reason: the situation and the command. An installation of files that are gone asks as
    one does that has them."""
    if case.sort in _PLAIN:
        return case.sort, case.situation, case.command
    return case.situation, case.command.replace("restore-ci", "ci").replace("restore", "install")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("consent"))


@pytest.mark.parametrize("case", rest_thorough(1, cases(), alike), ids=lambda case: f"{case.name} ({case.item})")
def test_each_row_ends_as_the_table_says(world: World, case: Case) -> None:
    assert row(world, case) == _ROWS[case.name]


def test_the_table_has_exactly_these_rows() -> None:
    assert list(_ROWS) == [case.name for case in cases()]
