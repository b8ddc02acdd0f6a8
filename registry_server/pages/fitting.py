"""How many rows of a list fit on a page. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from registry_server.pages.hidden import shown
from registry_server.pages.limits import PAGES

T = TypeVar("T")


def fitting(rows: Sequence[T], room: int, cost: Callable[[T], int]) -> Sequence[T]:
    """The first of the rows, at least one, as many as have together no more than ``room`` characters of HTML."""
    for number, row in enumerate(rows):
        room -= cost(row)
        if room < 0 and number:
            return rows[:number]
    return rows


def line_cost(text: str) -> int:
    """HTML of a text as the filter ``short`` shows it."""
    return len(shown(text, PAGES.line_characters))
