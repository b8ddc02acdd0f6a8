"""How the rules write their tables: a text of words that white space separates."""

from __future__ import annotations

from collections.abc import Iterable


def word_set(text: str) -> frozenset[str]:
    """The words of ``text``."""
    return frozenset(text.split())


def triggers(some: str | Iterable[str]) -> frozenset[bytes]:
    """Lower-case words, or a text of them, as ``Source.has`` takes them."""
    return frozenset(word.encode() for word in (some.split() if isinstance(some, str) else some))


class ByWord:
    """Which rows of a table each trigger word belongs to: a text's own words lead to the rows that matter."""

    def __init__(self, table: Iterable[frozenset[bytes]]):
        self._rows: dict[bytes, tuple[int, ...]] = {}
        for index, words in enumerate(table):
            for word in words:
                self._rows[word] = (*self._rows.get(word, ()), index)
        self._words = frozenset(self._rows)

    def rows(self, words: frozenset[bytes]) -> list[int]:
        """The rows that any of these words belongs to, in order."""
        return sorted({index for word in self._words & words for index in self._rows[word]})
