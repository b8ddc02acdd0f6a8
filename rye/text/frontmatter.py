"""Find where YAML frontmatter ends and the body begins (DECISIONS Agents 1 and 12, Overrides 8). Only this module decides it.

Line 1 is ``---``, possibly with trailing whitespace; the next such line closes the block. Only a signature line can come before
it (DESIGN §4), in the later form. An older form or a placeholder there is not a valid signature, but the file must still be
readable, so that signing it can move the line to the right place: a YAML comment on line 2.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from msgspec import Struct


@cache
def _signature() -> re.Pattern[str]:
    return re.compile(r"<!-- rye(?:os)?:signed:[^\n]*:(?:[0-9a-f]{16}|[0-9a-f]{64}|unsigned)(?:\|[^\n]*)? -->[ \t]*")


class Frontmatter(Struct, frozen=True):
    """A file split in two. Line numbers count from 1 in the file."""

    yaml: str
    yaml_line: int
    body: str
    body_line: int


class FrontmatterError(ValueError):
    """There is no frontmatter, or it is never closed. ``line`` is the file's."""

    def __init__(self, message: str, line: int):
        super().__init__(message)
        self.message = message
        self.line = line


def is_marker(line: str) -> bool:
    """Whether a line (without its line end) opens or closes frontmatter: ``---``, possibly with trailing whitespace."""
    return line.startswith("---") and line.rstrip(" \t") == "---"


def frontmatter_end(lines: Sequence[str], start: int = 0) -> int | None:
    """Return the index of the body's first line; None if ``lines[start]`` does not open frontmatter or nothing closes it."""
    if len(lines) <= start or not is_marker(lines[start]):
        return None
    for index in range(start + 1, len(lines)):
        if is_marker(lines[index]):
            return index + 1
    return None


def has_frontmatter(text: str) -> bool:
    """Whether the file opens a frontmatter block (closed or not)."""
    lines = text.split("\n", 2)
    return is_marker(lines[0]) or (len(lines) > 1 and _signature_above(lines) and is_marker(lines[1]))


def split(text: str) -> Frontmatter:
    """Split a file. Raises FrontmatterError if line 1 is not ``---`` or no line closes the block."""
    lines = text.split("\n")
    opener = 1 if len(lines) > 1 and _signature_above(lines) else 0
    if not is_marker(lines[opener]):
        raise FrontmatterError("Line 1 must be '---', the start of YAML frontmatter.", opener + 1)
    end = frontmatter_end(lines, opener)
    if end is None:
        raise FrontmatterError("The frontmatter is not closed: there is no second '---' line.", opener + 1)
    return Frontmatter("\n".join(lines[opener + 1 : end - 1]), opener + 2, "\n".join(lines[end:]), end + 1)


def _signature_above(lines: list[str]) -> bool:
    return lines[0].startswith("<!-- rye") and _signature().fullmatch(lines[0]) is not None
