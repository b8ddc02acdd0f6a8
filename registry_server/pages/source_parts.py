"""A source in parts that fit on pages, with numbered lines. Pure.

A part ends where a stretch of code does (:mod:`registry_server.pages.highlighting`), so each can be coloured by itself, and which
part has a line depends only on the text. A line that is longer than a part continues on the next.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

from markupsafe import Markup
from msgspec import Struct

from registry_server.pages.escaped_text import divided, marked
from registry_server.pages.highlighting import Colours, stretches
from registry_server.pages.limits import PAGES

_KEPT = 8
"""Texts whose parts are remembered: links to lines of one text are written together."""
_ROW = len('<span id="L" data-n="">\n</span>') + 8
"""Bytes of HTML around a line."""


class Row(Struct, frozen=True):
    """A line, or a piece of a long one."""

    number: int
    """The line's, from 1."""
    text: str
    is_start: bool = True
    """Whether the line begins here."""


class SourcePart(Struct, frozen=True):
    """The rows of one page, in stretches."""

    stretches: tuple[tuple[Row, ...], ...]

    @property
    def first(self) -> int:
        """The number of its first line."""
        return self.stretches[0][0].number if self.stretches else 1

    @property
    def last(self) -> int:
        """The number of its last line."""
        return self.stretches[-1][-1].number if self.stretches else 1


def source_parts(text: str) -> tuple[SourcePart, ...]:
    """Divide a text into parts, at least one."""
    parts: list[list[tuple[Row, ...]]] = [[]]
    room = PAGES.source_part_bytes
    for stretch, cost in _fitting(list(_rows(text))):
        if cost > room and parts[-1]:
            parts.append([])
            room = PAGES.source_part_bytes
        parts[-1].append(stretch)
        room -= cost
    return tuple(SourcePart(tuple(part)) for part in parts)


def part_of_line(text: str, line: int) -> int:
    """Return the number of the part in which a line begins, from 0; of a line that is not there, the last."""
    return max(bisect_right(_firsts(text), line) - 1, 0)


@lru_cache(maxsize=_KEPT)
def _firsts(text: str) -> tuple[int, ...]:
    """Return the number of the first line that begins on each part, or would begin after it."""
    if len(marked(text).encode()) + _ROW * (text.count("\n") + 1) <= PAGES.source_part_bytes:
        return (1,)
    firsts = (part.stretches[0][0] for part in source_parts(text))
    return tuple(row.number if row.is_start else row.number + 1 for row in firsts)


def numbered(part: SourcePart, language: str, colours: Colours) -> Markup:
    """Return a part as HTML. Each line has an anchor, ``L1`` and so on."""
    html: list[str] = []
    for stretch in part.stretches:
        runs = colours.runs([row.text for row in stretch], language)
        for at, row in enumerate(stretch):
            line = colours.line(runs[at]) if runs is not None else marked(row.text)
            html.append(
                f'<span id="L{row.number}" data-n="{row.number}">{line}\n</span>'
                if row.is_start
                else f"<span>{line}\n</span>"
            )
    return Markup("".join(html))


def _rows(text: str) -> Iterator[Row]:
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        if len(line) <= PAGES.highlighted_line:
            yield Row(number, line)
        else:
            for at, piece in enumerate(divided(line, PAGES.source_row)):
                yield Row(number, piece, not at)


def _fitting(rows: list[Row]) -> Iterator[tuple[tuple[Row, ...], int]]:
    """Yield stretches that fit on a page, and their bytes of HTML without colours. Of one with many hidden characters, which does
    not fit, the rows stand alone."""
    for each in stretches([row.text for row in rows]):
        stretch = tuple(rows[each.start : each.stop])
        costs = [(len(marked(row.text).encode()) if row.text else 0) + _ROW for row in stretch]
        if sum(costs) <= PAGES.source_part_bytes:
            yield stretch, sum(costs)
        else:
            yield from (((row,), cost) for row, cost in zip(stretch, costs, strict=True))
