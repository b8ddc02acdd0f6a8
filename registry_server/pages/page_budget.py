"""Limit lists to the rows that fit on a page. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from registry_server.pages.escaped_text import shown
from registry_server.pages.limits import PAGES

T = TypeVar("T")


def fitting(rows: Sequence[T], room: int, cost: Callable[[T], int]) -> Sequence[T]:
    """Return the first rows that together take at most ``room`` characters of HTML, and always at least one."""
    for number, row in enumerate(rows):
        room -= cost(row)
        if room < 0 and number:
            return rows[:number]
    return rows


def line_cost(text: str) -> int:
    """Return the characters of HTML that a text takes with the filter ``short``."""
    return len(shown(text, PAGES.line_characters))


class Rows(Struct, Generic[T], frozen=True):
    """The first rows of a list, and its length."""

    rows: tuple[T, ...] = ()
    total: int = 0

    @property
    def more(self) -> int:
        """How many rows are not shown."""
        return self.total - len(self.rows)


def rows(values: Sequence[T], cost: Callable[[T], int], room: int = PAGES.list_characters) -> Rows[T]:
    """Return as many of the values as a page has room for."""
    return Rows(tuple(fitting(values[: PAGES.rows], room, cost)), len(values))
