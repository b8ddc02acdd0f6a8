"""What needs a yes, who is asked, and how each command ends (DESIGN 6.1, DESIGN 7): the whole table, row by row."""

from __future__ import annotations

import pytest

from tests.consent.outcomes import TABLE, Case, cases, row
from tests.consent.scene import World

_ROWS = {text.partition(" (")[0]: text for text in TABLE.read_text("utf-8").removesuffix("\n").split("\n\n")}
_PLAIN = ("all", "everything", "right")
"""The sorts whose installation is also played without its files in ``make test``."""


def marks(case: Case) -> list[pytest.MarkDecorator]:
    """An installation of files that are gone asks as one does that has them, in the rows before."""
    if "restore" not in case.command:
        return []
    return [pytest.mark.slow] if case.sort in _PLAIN else [pytest.mark.slow, pytest.mark.thorough]


_WITH_ITEM = [pytest.param(case, id=f"{case.name} ({case.item})", marks=marks(case)) for case in cases()]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("consent"))


@pytest.mark.parametrize("case", _WITH_ITEM)
def test_each_row_ends_as_the_table_says(world: World, case: Case) -> None:
    assert row(world, case) == _ROWS[case.name]


def test_the_table_has_exactly_these_rows() -> None:
    assert list(_ROWS) == [case.name for case in cases()]
