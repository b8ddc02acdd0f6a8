"""How the rules write their tables: a text of words that white space separates."""

from __future__ import annotations

from collections.abc import Iterable


def word_set(text: str) -> frozenset[str]:
    """The words of ``text``."""
    return frozenset(text.split())


def triggers(some: str | Iterable[str]) -> frozenset[bytes]:
    """Lower-case words, or a text of them, as ``Source.has`` takes them."""
    return frozenset(word.encode() for word in (some.split() if isinstance(some, str) else some))
