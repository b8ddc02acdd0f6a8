"""A source in parts that fit on pages, with numbered lines. Pure.

A part ends where a stretch of code does (:mod:`registry_server.pages.highlighting`), so each can be coloured by itself, and which
part has a line depends only on the text. A line that is longer than a part continues on the next.

Where parts begin is found once for a text, which its file's page bounds (``PAGES.source_bytes``), and remembered. The rows of a
part are made only where it is shown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache

from markupsafe import Markup
from msgspec import Struct

from registry_server.pages.escaped_text import divided, marked
from registry_server.pages.highlighting import Colours, stretches
from registry_server.pages.limits import PAGES

_KEPT = 8
"""Texts whose parts are remembered: the parts of one text are read one after the other, and links to its lines are written
together."""
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
    """The rows of one page."""

    rows: tuple[Row, ...] = ()

    @property
    def first(self) -> int:
        """The number of its first line."""
        return self.rows[0].number if self.rows else 1

    @property
    def last(self) -> int:
        """The number of its last line."""
        return self.rows[-1].number if self.rows else 1


class PartBounds(Struct, frozen=True):
    """Where a part is in its text. Offsets are characters of the text."""

    start: int
    stop: int
    """The offset after its last character, without the end of its last line."""
    number: int
    """The number of its first line."""
    is_start: bool
    """Whether that line begins here."""
    cuts: tuple[int, ...] = ()
    """Offsets after ``start`` at which long lines are divided into rows."""


def source_part(text: str, bounds: PartBounds) -> SourcePart:
    """Return a part of a text. The work depends on the part's length alone."""
    rows: list[Row] = []
    number, is_start, at = bounds.number, bounds.is_start, bounds.start
    cuts = iter((*bounds.cuts, bounds.stop + 1))
    cut = next(cuts)
    for line in text[bounds.start : bounds.stop].split("\n"):
        end = at + len(line)
        while cut < end:
            rows.append(Row(number, text[at:cut], is_start))
            at, is_start, cut = cut, False, next(cuts)
        rows.append(Row(number, text[at:end], is_start))
        at, is_start, number = end + 1, True, number + 1
    return SourcePart(tuple(rows))


def part_of_line(text: str, line: int) -> int:
    """Return the number of the part in which a line begins, from 0; of a line that is not there, the last."""
    parts = part_bounds(text)
    return max(bisect_right(parts, line, key=lambda part: part.number if part.is_start else part.number + 1) - 1, 0)


@lru_cache(maxsize=_KEPT)
def part_bounds(text: str) -> tuple[PartBounds, ...]:
    """Return where the parts of a text are, at least one."""
    rows, begins = _rows(text)
    firsts, room = [0], PAGES.source_part_bytes
    for row, cost in _fitting(rows):
        if cost > room and row > firsts[-1]:
            firsts.append(row)
            room = PAGES.source_part_bytes
        room -= cost
    return tuple(_bounds(rows, begins, firsts))


def numbered(part: SourcePart, language: str, colours: Colours) -> Markup:
    """Return a part as HTML. Each line has an anchor, ``L1`` and so on."""
    html: list[str] = []
    for each in stretches([row.text for row in part.rows]):
        stretch = part.rows[each.start : each.stop]
        runs = colours.runs([row.text for row in stretch], language)
        for at, row in enumerate(stretch):
            line = colours.line(runs[at]) if runs is not None else marked(row.text)
            html.append(
                f'<span id="L{row.number}" data-n="{row.number}">{line}\n</span>'
                if row.is_start
                else f"<span>{line}\n</span>"
            )
    return Markup("".join(html))


def _rows(text: str) -> tuple[list[str], bytearray]:
    """Return the texts of all rows, and for each a 1 if a line begins with it, else a 0."""
    lines = text.removesuffix("\n").split("\n")
    if max(map(len, lines)) <= PAGES.highlighted_line:
        return lines, bytearray(b"\1") * len(lines)
    rows: list[str] = []
    begins = bytearray()
    for line in lines:
        pieces = [line] if len(line) <= PAGES.highlighted_line else list(divided(line, PAGES.source_row))
        rows += pieces
        begins += b"\1" + bytes(len(pieces) - 1)
    return rows, begins


def _fitting(rows: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the first rows of stretches that fit on a page, and their bytes of HTML without colours. Of one with many hidden
    characters, which does not fit, the rows stand alone."""
    for each in stretches(rows):
        # at once: no mark depends on the lines before and after its own
        html = str(marked("\n".join(rows[each.start : each.stop])))
        cost = len(html.encode()) + len(each) * _ROW - (len(each) - 1)
        if cost <= PAGES.source_part_bytes:
            yield each.start, cost
        else:
            for row, line in enumerate(html.split("\n"), each.start):
                yield row, len(line.encode()) + _ROW


def _bounds(rows: Sequence[str], begins: bytearray, firsts: Sequence[int]) -> Iterator[PartBounds]:
    start, number = 0, 1
    for first, end in zip(firsts, (*firsts[1:], len(rows)), strict=True):
        at, cuts = start, []
        for row in range(first, end):
            if row > first:
                at += begins[row]
                if not begins[row]:
                    cuts.append(at)
            at += len(rows[row])
        is_whole = end < len(rows) and begins[end] == 1
        yield PartBounds(start, at, number, begins[first] == 1, tuple(cuts))
        start = at + is_whole
        number += begins.count(1, first + 1, end + 1)
