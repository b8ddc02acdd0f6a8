"""How a file writes its lines, separate from what they say (DECISIONS Overrides 7, 18).

Both inputs of a merge are read without BOM and with LF; the result is written in the target's form. Only LF ends a line: a lone
CR, U+2028 and the like are ordinary characters.
"""

from __future__ import annotations

from msgspec import Struct

BOM = "\ufeff"


class LineForm(Struct, frozen=True):
    """``bom``: whether the file starts with one. ``newline``: the line end of most of its lines (LF if tied)."""

    bom: bool = False
    newline: str = "\n"

    def write(self, text: str) -> str:
        """Return ``text`` (LF, no BOM) in this form."""
        return (BOM if self.bom else "") + (text if self.newline == "\n" else text.replace("\n", self.newline))


def read_form(text: str) -> tuple[str, LineForm]:
    """Return ``text`` with LF line endings and without a BOM, and the form that it had."""
    bom = text.startswith(BOM)
    body = text[1:] if bom else text
    crlf = body.count("\r\n")
    newline = "\r\n" if crlf > body.count("\n") - crlf else "\n"
    return body.replace("\r\n", "\n"), LineForm(bom, newline)


def split_lines(text: str) -> tuple[list[str], bool]:
    """Return the lines of LF text without their line ends, and whether the last line had one."""
    if not text:
        return [], False
    ended = text.endswith("\n")
    return (text[:-1] if ended else text).split("\n"), ended


def is_blank(line: str) -> bool:
    """Whether the line is empty or has only spaces and tabs."""
    return not line.strip(" \t")


def trimmed(lines: list[str]) -> list[str]:
    """The lines without blank lines at either end (DECISIONS Overrides 14)."""
    start, end = 0, len(lines)
    while start < end and is_blank(lines[start]):
        start += 1
    while end > start and is_blank(lines[end - 1]):
        end -= 1
    return lines[start:end]
