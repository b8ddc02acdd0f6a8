"""The words of a text, and the lines that have them, so that a rule reads only lines with one of its own.

``words_in`` costs one pass over the bytes. Where a word is, is looked for once for all rules.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, repeat
from operator import add
from typing import Final

_LOWER: Final = bytes(range(65)) + bytes(range(97, 123)) + bytes(range(91, 256))
_DROPPED: Final = b"\"'\\^"
_WORDS: Final = bytes(code if (chr(code).isalnum() and code < 128) or code in b"_\n" else 32 for code in range(256))
_EDGE: Final = frozenset(code for code in range(256) if _WORDS[code] in b" \n")
_WINDOWS_PATH = re.compile(rb"(?:[a-z]:|%\w{1,30}%|\\|~|\.|hk(?:cu|lm|ey_\w{1,20}))\\[^\s\"'`]{1,400}")
#: A path of the registry without its root.
_REGISTRY_PATH = re.compile(rb"(?<![\w\\])(?:software|microsoft)\\[^\s\"'`]{1,400}")
#: It begins with the letter, not with what stands before it, so that the search skips other characters quickly.
_FORMATTED = re.compile(rb"[rbfu](?:(?<=[(\[=,].)|(?<=[(=,] .))[rbfu]?(?=[\"'])")
_BEFORE_BACKSLASH: Final = frozenset(b":%~.")
_EXPANDED = re.compile(rb"\$(?:[@*]|\{ifs[^}\n]{0,20}\}|ifs(?:\$[0-9])?)")


class WordLines:
    """The words of one text, and their lines (from 0)."""

    def __init__(self, text: str) -> None:
        self.lowered = lowered(text)
        """The bytes that the words are taken from."""
        self.written = words_in(self.lowered)
        """The words that are in the text as they are."""
        self.words = self.written
        """The same with those that a disguise hides."""
        self.hidden: Mapping[bytes, list[int]] = {}
        """The words that lines have only once their disguise is removed, with those lines."""
        self._rows: dict[bytes, list[int]] = {}

    @cached_property
    def _starts(self) -> list[int]:
        return line_starts(self.lowered.split(b"\n"))

    def add_hidden(self, hidden: Mapping[bytes, list[int]]) -> None:
        """Count words also for the lines that have them in a disguise."""
        self._rows.clear()
        self.hidden = hidden
        self.words |= hidden.keys()

    def lines_with(self, triggers: frozenset[bytes]) -> list[int]:
        """The lines with any of these words, in order."""
        found = triggers & self.words
        if not found:
            return []
        if len(found) == 1:
            return self.lines_of(next(iter(found)))
        return sorted({number for word in found for number in self.lines_of(word)})

    def lines_of(self, word: bytes) -> list[int]:
        """The lines of one word, computed once for all rules."""
        numbers = self._rows.get(word)
        if numbers is None:
            text, starts, size = self.lowered, self._starts, len(word)
            numbers = self._rows[word] = []
            at = text.find(word)
            while at >= 0:
                if (at == 0 or text[at - 1] in _EDGE) and (at + size == len(text) or text[at + size] in _EDGE):
                    number = bisect_right(starts, at) - 1
                    numbers.append(number)
                    at = text.find(word, starts[number + 1])
                else:
                    at = text.find(word, at + size)
            if word in self.hidden:
                numbers[:] = sorted({*numbers, *self.hidden[word]})
        return numbers

    def lines_of_bytes(self, mark: bytes) -> Iterator[int]:
        """The lines whose ``lowered`` text contains ``mark``."""
        at = self.lowered.find(mark)
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            yield number
            at = self.lowered.find(mark, self._starts[number + 1])

    def between(self, first: int, last: int) -> frozenset[bytes]:
        """The words of the lines from ``first`` up to ``last`` (exclusive)."""
        starts = self._starts
        return words_in(self.lowered[starts[max(0, first)] : starts[min(last, len(starts) - 1)]])


def lowered(text: str) -> bytes:
    """The text's bytes in lower case, without quotes and escapes, Windows paths with slashes. Words are taken from this."""
    raw = text.encode("utf-8", "replace").translate(_LOWER)
    if b"\\n" in raw:
        raw = raw.replace(b"\\n", b"  ")
    if b"\\" in raw and _may_have_windows_paths(raw):
        raw = _WINDOWS_PATH.sub(lambda match: match[0].replace(b"\\", b"/"), raw)
    if b"\\" in raw and (b"software\\" in raw or b"microsoft\\" in raw):
        raw = _REGISTRY_PATH.sub(lambda match: match[0].replace(b"\\", b"/"), raw)
    if b'f"' in raw or b"f'" in raw:
        raw = _FORMATTED.sub(b"", raw)
    plain = raw.translate(None, _DROPPED)
    if b"$" in plain:
        plain = _EXPANDED.sub(lambda match: b"" if match[0] in (b"$@", b"$*") else b" ", plain)
    return plain


def _may_have_windows_paths(raw: bytes) -> bool:
    """Whether a backslash follows something that a path can begin with. Cheaper than the pattern, and never misses a path."""
    before = raw.split(b"\\")
    return any(not piece or piece[-1] in _BEFORE_BACKSLASH for piece in before[:-1]) or b"hk" in raw


def words_in(text: bytes) -> frozenset[bytes]:
    """The distinct words of a text that :func:`lowered` returned."""
    return frozenset(text.translate(_WORDS).split())


def line_starts(lines: Sequence[str] | Sequence[bytes]) -> list[int]:
    """The offset of each line of a text, and of what would follow its last line end."""
    return [0, *accumulate(map(add, map(len, lines), repeat(1)))]
