"""How the rules write their tables: as words in a string, separated by whitespace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def word_set(text: str) -> frozenset[str]:
    """The words of ``text``."""
    return frozenset(text.split())


def triggers(some: str | Iterable[str]) -> frozenset[bytes]:
    """Convert words (or a string of them) to lower-case bytes, as ``Source.has`` expects them."""
    return frozenset(word.encode() for word in (some.split() if isinstance(some, str) else some))


class ByWord:
    """An index from trigger words to table rows, so that a text's own words lead to the rows that matter."""

    def __init__(self, table: Iterable[frozenset[bytes]]):
        self._rows: dict[bytes, tuple[int, ...]] = {}
        for index, words in enumerate(table):
            for word in words:
                self._rows[word] = (*self._rows.get(word, ()), index)
        self._words = frozenset(self._rows)

    def rows(self, words: frozenset[bytes]) -> list[int]:
        """The rows that any of these words belongs to, in order."""
        return sorted({index for word in self._words & words for index in self._rows[word]})


class Spellings:
    """Words, each with the spellings of which a text must have one for the word to matter."""

    def __init__(self, table: Mapping[str, tuple[str, ...]]) -> None:
        self._marks = {word.encode(): tuple(mark.encode() for mark in marks) for word, marks in table.items()}
        self.words = frozenset(self._marks)

    def marks_in(self, words: frozenset[bytes], lowered: bytes) -> list[bytes]:
        """The spellings that a text has whose words and whose bytes in lower case these are."""
        return [mark for word in self.words & words for mark in self._marks[word] if mark in lowered]
