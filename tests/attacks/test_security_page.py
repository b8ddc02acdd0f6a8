"""docs/security.md says only what a test shows: every row of its table names an attack or a test that exists."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.attacks.simulation import Attack
from tests.attacks.test_program import ALL

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
ROWS = re.findall(
    r"^\|[^|]+\|[^|]+\|[^|]+\| `(test_\w+)\.py::([^`]+)` \|$",
    PAGE.read_text("utf-8").split("## Attacks and defences")[1],
    re.MULTILINE,
)


def names_in(module: str) -> set[str]:
    """The names of a file's tests and of the attacks in its tables."""
    room = "attacks" if find_spec(f"tests.attacks.{module}") is not None else "cli"
    found = vars(import_module(f"tests.{room}.{module}"))
    attacks = {
        attack.name
        for table in found.values()
        if isinstance(table, tuple)
        for attack in table
        if isinstance(attack, Attack)
    }
    classes = [vars(value) for name, value in found.items() if name.startswith("Test") and isinstance(value, type)]
    return attacks | {
        name
        for names in (found, *classes)
        for name, value in names.items()
        if name.startswith("test_") and callable(value)
    }


def test_every_row_of_the_table_is_read() -> None:
    section = PAGE.read_text("utf-8").split("## Attacks and defences")[1].split("\n## ")[0]
    rows = [line for line in section.split("\n") if line.startswith("|")][2:]
    assert len(rows) == len(ROWS) >= 30


@pytest.mark.parametrize(("module", "name"), ROWS)
def test_what_the_page_names_exists(module: str, name: str) -> None:
    assert name in names_in(module)


def test_the_page_counts_the_attacks() -> None:
    [least] = re.findall(r"more than (\d+) attacks", PAGE.read_text("utf-8"))
    assert len(ALL) > int(least)


def test_codes_that_the_page_names_exist() -> None:
    [listed] = re.findall(r"\*\*An alarm\*\* \(([^)]+)\)", PAGE.read_text("utf-8"))
    assert set(re.findall(r"`([a-z-]+)`", listed)) <= {attack.code for attack in ALL}
