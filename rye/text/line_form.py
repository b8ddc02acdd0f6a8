"""How a file writes its lines, kept apart from what they say (DECISIONS Overrides 7, 18).

Both inputs of a merge are read without BOM and with LF; the result is written in the target's form. A lone CR is an
ordinary character; only LF ends a line (never U+2028 and the like).
"""

from __future__ import annotations

from msgspec import Struct

BOM = "\ufeff"


class LineForm(Struct, frozen=True):
    """``bom``: the file starts with one; ``newline``: what most of its lines end with (a tie: LF)."""

    bom: bool = False
    newline: str = "\n"

    def write(self, text: str) -> str:
        """``text`` (LF, no BOM) in this form."""
        return (BOM if self.bom else "") + (text if self.newline == "\n" else text.replace("\n", self.newline))


def read_form(text: str) -> tuple[str, LineForm]:
    """``text`` with LF endings and without its BOM, and the form that it had."""
    bom = text.startswith(BOM)
    body = text[1:] if bom else text
    crlf = body.count("\r\n")
    newline = "\r\n" if crlf > body.count("\n") - crlf else "\n"
    return body.replace("\r\n", "\n"), LineForm(bom, newline)


def split_lines(text: str) -> tuple[list[str], bool]:
    """The lines of LF text without their endings, and whether the last one was ended."""
    if not text:
        return [], False
    ended = text.endswith("\n")
    return (text[:-1] if ended else text).split("\n"), ended


def is_blank(line: str) -> bool:
    """Only spaces and tabs, or nothing."""
    return not line.strip(" \t")


def trimmed(lines: list[str]) -> list[str]:
    """Without the blank lines at both ends (DECISIONS Overrides 14)."""
    start, end = 0, len(lines)
    while start < end and is_blank(lines[start]):
        start += 1
    while end > start and is_blank(lines[end - 1]):
        end -= 1
    return lines[start:end]
