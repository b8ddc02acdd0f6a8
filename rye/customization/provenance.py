"""Where each line of a merged text was written (DECISIONS Directives 20).

A merged text is not stored in a file, so a line number in it means nothing to a user. Here each line is traced back to the
file and line that it came from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from msgspec import Struct

from rye.text.display import visible


class LineOrigin(NamedTuple):
    """The origin of one line of a merge result. ``overrides``: it came from the overrides file, not the target; ``line``: from 1.

    A blank line that the merge inserted has the origin of the line before it.
    """

    overrides: bool
    line: int


class Origin(Struct, frozen=True):
    """A line of a source file. ``shown``: the file's path as messages show it."""

    shown: str
    line: int


def consecutive(overrides: bool, first: int, count: int) -> list[LineOrigin]:
    """The origins of ``count`` consecutive lines of a file."""
    return [LineOrigin(overrides, line) for line in range(first, first + count)]


def file_lines(shown: str, text: str, kept: str) -> tuple[Origin, ...]:
    """The origins of the lines of ``kept``: a file's text without one run of consecutive lines (its signature line)."""
    lines, rest = text.split("\n"), kept.split("\n")
    gone = len(lines) - len(rest)
    cut = next((index for index, line in enumerate(rest) if line != lines[index]), len(rest)) if gone > 0 else len(rest)
    return tuple(Origin(shown, index + 1 + (gone if index >= cut else 0)) for index in range(len(rest)))


def merged_lines(before: Sequence[Origin], shown: str, origins: Sequence[LineOrigin]) -> tuple[Origin, ...]:
    """The origins of the lines of a merge result. ``before``: those of its target; ``shown``: the overrides file."""
    return tuple(
        Origin(shown, each.line) if each.overrides else before[min(each.line, len(before)) - 1] for each in origins
    )


def origin_of(origins: Sequence[Origin], line: int) -> Origin:
    """The origin of ``line``, counted from 1; a line past the end has the origin of the last one."""
    return origins[min(max(line, 1), len(origins)) - 1]


def placed_message(message: str, origins: Sequence[Origin]) -> str:
    """A reader's message about a merged text, with line numbers in it ("the first is on line 3") replaced by their origins."""

    def written(found: re.Match[str]) -> str:
        origin = origin_of(origins, int(found[2]))
        return f"{found[1]} line {origin.line} of {visible(origin.shown)}"

    return _named_line().sub(written, message)


@cache
def _named_line() -> re.Pattern[str]:
    return re.compile(r"\b(on|of|in) line (\d{1,9})\b")
