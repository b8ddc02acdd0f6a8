"""Converts positions: offsets in characters here, lines and columns in the client's units there (LSP 3.17, Position).

A client's lines end only with LF, CR LF or CR; its columns count UTF-16 units unless another encoding was negotiated. Rye's
own positions count from 1, without the byte order mark; lines end with LF, and CR LF counts as LF.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]
Place = tuple[int, int]
"""Line and character as the client counts them, both from 0."""

_BREAK = re.compile(r"\r\n|\n|\r")
BOM = "\ufeff"


class Text:
    """A text with a cache of where its lines start."""

    __slots__ = ("_own_starts", "_starts", "encoding", "text")

    def __init__(self, text: str, encoding: Encoding = "utf-16") -> None:
        self.text = text
        self.encoding = encoding
        self._starts: list[int] | None = None
        self._own_starts: list[int] | None = None

    @property
    def starts(self) -> list[int]:
        """The offsets at which the client's lines start."""
        if self._starts is None:
            self._starts = [0, *(found.end() for found in _BREAK.finditer(self.text))]
        return self._starts

    def offset(self, line: int, character: int) -> int:
        """Return the offset of a client's position. A position beyond a line's end means that end; likewise for the text."""
        starts = self.starts
        if line < 0 or character < 0:
            return 0
        if line >= len(starts):
            return len(self.text)
        start = starts[line]
        end = starts[line + 1] if line + 1 < len(starts) else len(self.text)
        content = self.text[start:end].rstrip("\r\n")
        if self.encoding == "utf-32" or content.isascii():
            return start + min(character, len(content))
        units = 0
        for index, letter in enumerate(content):
            if units >= character:
                return start + index
            units += _units(letter, self.encoding)
        return start + len(content)

    def place(self, offset: int) -> Place:
        """Return the client's position of an offset."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self.starts, offset) - 1
        before = self.text[self.starts[line] : offset]
        if self.encoding == "utf-32" or before.isascii():
            return line, len(before)
        return line, sum(_units(letter, self.encoding) for letter in before)

    def own_offset(self, line: int, column: int) -> int:
        """Return the offset of a position in Rye's findings."""
        if self._own_starts is None:
            self._own_starts = [0, *(found.end() for found in re.finditer("\n", self.text))]
        starts = self._own_starts
        if line > len(starts):
            return len(self.text)
        start = starts[max(line, 1) - 1]
        end = starts[line] - 1 if line < len(starts) else len(self.text)
        shift = 1 if line <= 1 and self.text.startswith(BOM) else 0
        return min(start + shift + max(column, 1) - 1, end)

    def line_end(self, offset: int) -> int:
        """Return the end of the line at an offset, without its line break."""
        found = _BREAK.search(self.text, offset)
        return found.start() if found is not None else len(self.text)

    def changed(self, start: Place | None, end: Place | None, new: str) -> Text:
        """Return the text after a change; without positions, ``new`` replaces everything."""
        if start is None or end is None:
            return Text(new, self.encoding)
        first, last = self.offset(*start), self.offset(*end)
        first, last = min(first, last), max(first, last)
        return Text(self.text[:first] + new + self.text[last:], self.encoding)


def _units(letter: str, encoding: Encoding) -> int:
    if encoding == "utf-16":
        return 2 if letter > "\uffff" else 1
    point = ord(letter)
    return 1 if point < 0x80 else 2 if point < 0x800 else 3 if point < 0x10000 else 4
