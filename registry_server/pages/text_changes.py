"""The line diff of two texts: hunks with the line numbers of both sides, and what changed within a line. Pure.

* A line ends only with LF, so an added or removed CR shows as a change. A last line without LF is marked.
* Each change has up to three unchanged lines before and after it. The number of omitted lines is given.
* In a changed line only the changed words are marked, if the two lines have enough in common.
* A long line is cut. Of a long changed line, the part around the change is shown.
* The work is bounded by a :class:`rye.text.matching_lines.Budget`: hostile texts give a coarser diff, never a long
  wait.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal

from msgspec import Struct

from registry_server.pages.limits import COMPARISON
from rye.text.matching_lines import Block, Budget, hunks, matches

Sign = Literal[" ", "-", "+"]


class Part(Struct, frozen=True):
    """A part of a line."""

    text: str
    changed: bool = False


class Line(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One line of a diff, without its line ending."""

    sign: Sign
    old: int | None
    """Its number on the old side, from 1; None: the old side does not have it."""
    new: int | None
    parts: tuple[Part, ...]
    before: int = 0
    """Characters cut from its beginning."""
    after: int = 0
    """Characters cut from its end."""
    unended: bool = False
    """Whether it is the last line and has no line ending."""
    is_signature: bool = False
    """Whether it stands for a well-formed signature line, which has no parts. With both numbers, the line changed."""

    @property
    def text(self) -> str:
        """The visible part of the line."""
        return "".join(part.text for part in self.parts)


class Hunk(Struct, frozen=True):
    """Changes and the unchanged lines around them."""

    skipped: int
    """Unchanged lines omitted before the hunk."""
    lines: tuple[Line, ...]


class Changes(Struct, frozen=True):
    """The diff of two texts."""

    hunks: tuple[Hunk, ...]
    added: int
    removed: int
    skipped: int
    """Unchanged lines omitted after the last hunk."""


def text_changes(old: str, new: str, budget: Budget) -> Changes:
    """Return the diff of two texts. Either can be empty."""
    before, after = _split(old), _split(new)
    shown: list[Hunk] = []
    added = removed = shown_to = 0
    for hunk in hunks(matches(before, after, budget), len(before), len(after), COMPARISON.context_lines):
        lines: list[Line] = []
        for block in hunk.blocks:
            for back in range(block.lead, 0, -1):
                lines.append(_same(before, block.old.start - back, block.new.start - back))
            lines += _changed(before, after, block, budget)
            added, removed = added + len(block.new), removed + len(block.old)
        last = hunk.blocks[-1]
        lines += (_same(before, last.old.stop + n, last.new.stop + n) for n in range(hunk.old.stop - last.old.stop))
        shown.append(Hunk(hunk.old.start - shown_to, tuple(lines)))
        shown_to = hunk.old.stop
    return Changes(tuple(shown), added, removed, len(before) - shown_to)


def _split(text: str) -> list[str]:
    """Split into lines that keep their LF: a last line without LF differs from the same line with it."""
    lines = text.split("\n")
    return [*(f"{line}\n" for line in lines[:-1]), *([lines[-1]] if lines[-1] else [])]


def _same(before: Sequence[str], at_old: int, at_new: int) -> Line:
    return _whole(" ", at_old + 1, at_new + 1, before[at_old])


def _whole(sign: Sign, old: int | None, new: int | None, line: str) -> Line:
    text = line.removesuffix("\n")
    most = COMPARISON.line_characters
    return Line(
        sign=sign, old=old, new=new, parts=(Part(text[:most]),), after=max(len(text) - most, 0), unended=text == line
    )


def _changed(before: Sequence[str], after: Sequence[str], block: Block, budget: Budget) -> Iterator[Line]:
    """Yield the removed lines, then the added ones. In a similar pair, only what differs is marked."""
    pairs = {}
    if len(block.old) == len(block.new):
        for at_old, at_new in zip(block.old, block.new, strict=True):
            pair = _pair(before[at_old], after[at_new], budget)
            if pair is not None:
                pairs[at_old - block.old.start] = pair
    for number, at in enumerate(block.old):
        if number in pairs:
            yield _windowed("-", at + 1, None, pairs[number][0], before[at])
        else:
            yield _whole("-", at + 1, None, before[at])
    for number, at in enumerate(block.new):
        if number in pairs:
            yield _windowed("+", None, at + 1, pairs[number][1], after[at])
        else:
            yield _whole("+", None, at + 1, after[at])


@cache
def _words() -> re.Pattern[str]:
    return re.compile(r"\w+|\s|.", re.DOTALL)


def _pair(old: str, new: str, budget: Budget) -> tuple[list[Part], list[Part]] | None:
    """Return both lines in parts with the changed ones marked; None if they have too little in common."""
    one, other = old.removesuffix("\n"), new.removesuffix("\n")
    if not budget.take(1 + (len(one) + len(other) >> 5)):
        return None
    short = max(len(one), len(other)) <= COMPARISON.compared_characters
    rows = list(_by_words(one, other, budget) if short else _by_ends(one, other))
    same = sum(len(before) for before, _, changed in rows if not changed)
    if 3 * same < max(len(one), len(other)):
        return None
    return (
        [Part(before, changed) for before, _, changed in rows if before],
        [Part(after, changed) for _, after, changed in rows if after],
    )


_Row = tuple[str, str, bool]
"""Text before, text after, and whether they differ."""


def _by_words(one: str, other: str, budget: Budget) -> Iterator[_Row]:
    before, after = _words().findall(one), _words().findall(other)
    at_old = at_new = 0
    for match in (*matches(before, after, budget), None):
        end_old, end_new = (match.old, match.new) if match else (len(before), len(after))
        if (at_old, at_new) != (end_old, end_new):
            yield "".join(before[at_old:end_old]), "".join(after[at_new:end_new]), True
        if match:
            at_old, at_new = end_old + match.length, end_new + match.length
            same = "".join(before[end_old:at_old])
            yield same, same, False


def _by_ends(one: str, other: str) -> Iterator[_Row]:
    """Treat a common prefix and suffix as unchanged and everything between as one change."""
    start = _common(one, other)
    end = _common(one[start:][::-1], other[start:][::-1])
    yield one[:start], one[:start], False
    yield one[start : len(one) - end], other[start : len(other) - end], True
    yield one[len(one) - end :], other[len(other) - end :], False


def _common(one: str, other: str) -> int:
    """Return the length of the common prefix. Bisecting lets slice comparison do the work."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def _windowed(sign: Sign, old: int | None, new: int | None, parts: Sequence[Part], line: str) -> Line:
    """Return the part of the line around its first change."""
    most = COMPARISON.line_characters
    length = sum(len(part.text) for part in parts)
    lead = 0
    for part in parts:
        if part.changed:
            break
        lead += len(part.text)
    start = max(min(lead - most // 4, length - most), 0)
    shown: list[Part] = []
    at = 0
    for part in parts:
        piece = part.text[max(start - at, 0) : max(start + most - at, 0)]
        if piece:
            shown.append(Part(piece, part.changed))
        at += len(part.text)
    after = max(length - start - most, 0)
    return Line(
        sign=sign, old=old, new=new, parts=tuple(shown), before=start, after=after, unended=not line.endswith("\n")
    )
