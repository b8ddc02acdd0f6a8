"""Where YAML frontmatter ends and the body begins (DECISIONS Agents 1 and 12).

Line 1 is ``---`` with trailing blanks at most; the next such line closes the block. Above it only one thing may stand: a
signature line (DESIGN §4). The later form counts there; another, or a placeholder, is no signature in that place, but the file
must be readable so that signing it can move the line to where ours stands, as a YAML comment on line 2.
"""

from __future__ import annotations

import re

from msgspec import Struct

_MARKER = re.compile(r"---[ \t]*")
_SIGNATURE = re.compile(r"<!-- rye(?:os)?:signed:[^\n]*:(?:[0-9a-f]{16}|[0-9a-f]{64}|unsigned)(?:\|[^\n]*)? -->[ \t]*")


class Frontmatter(Struct, frozen=True):
    """A file in two parts; the line numbers count from 1 in the file."""

    yaml: str
    yaml_line: int
    body: str
    body_line: int


class FrontmatterError(ValueError):
    """There is no frontmatter, or it never ends; ``line`` is the file's."""

    def __init__(self, message: str, line: int):
        super().__init__(message)
        self.message = message
        self.line = line


def has_frontmatter(text: str) -> bool:
    """Whether the file opens a frontmatter block (it need not close it)."""
    lines = text.split("\n", 2)
    return bool(_MARKER.fullmatch(lines[0])) or (
        len(lines) > 1 and bool(_SIGNATURE.fullmatch(lines[0])) and bool(_MARKER.fullmatch(lines[1]))
    )


def split(text: str) -> Frontmatter:
    """Take a file apart. Raises FrontmatterError where line 1 is not ``---`` or no line closes the block."""
    lines = text.split("\n")
    opener = 1 if len(lines) > 1 and _SIGNATURE.fullmatch(lines[0]) else 0
    if not _MARKER.fullmatch(lines[opener]):
        raise FrontmatterError("Line 1 must be '---': the file starts with YAML frontmatter.", opener + 1)
    for index in range(opener + 1, len(lines)):
        if _MARKER.fullmatch(lines[index]):
            yaml = "\n".join(lines[opener + 1 : index])
            return Frontmatter(yaml, opener + 2, "\n".join(lines[index + 1 :]), index + 2)
    raise FrontmatterError("The frontmatter is not closed: no further line is '---'.", opener + 1)
