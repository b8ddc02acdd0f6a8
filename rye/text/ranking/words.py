"""Split texts and queries into words for search. Pure.

Unicode compatibility forms and accents are folded, then case, and everything except letters and digits separates words. So
nothing that a person types can become database syntax. Three names of languages keep their sign: ``c#``, ``c++`` and ``.net``
are the words ``csharp``, ``cpp`` and ``dotnet``.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

WORD_LETTERS = 64
"""Letters of a word that count."""
_SHORT, _KNOWN = 128, 4_096
"""Letters of the texts whose words are remembered, and how many of these."""
LEAST_LETTERS = 2
"""A query needs a word with at least this many letters."""


@cache
def _word() -> re.Pattern[str]:
    return re.compile(r"[^\W_]+")


@cache
def _signs() -> re.Pattern[str]:
    return re.compile(r"\b(?:c(?:#|\+\+)|f#)|(?<!\w)\.net\b")


_BLANKS = bytes(letter if chr(letter).isalnum() and letter < 128 else 0x20 for letter in range(256))
"""A byte of a text in ASCII → itself if it is part of a word, otherwise a space."""
_SPELT = {"c#": "csharp", "c++": "cpp", "f#": "fsharp", ".net": "dotnet"}


def every_word_of(text: str) -> list[str]:
    """Return all words of a text, folded, in order."""
    return list(_remembered(text)) if len(text) <= _SHORT else _read(text)


@lru_cache(_KNOWN)
def _remembered(text: str) -> tuple[str, ...]:
    """The words of a short text: those of ids are needed many times."""
    return tuple(_read(text))


def _read(text: str) -> list[str]:
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text)
        text = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    text = text.casefold()
    if any(sign in text for sign in _SPELT):  # a heading's # alone starts no search of the whole text
        text = _signs().sub(lambda found: f" {_SPELT[found[0]]} ", text)
    words: list[str]
    if text.isascii():  # the same words as with the pattern, in a tenth of the time
        words = text.encode().translate(_BLANKS).decode().split()
    else:
        words = _word().findall(text)
    return [word[:WORD_LETTERS] for word in words] if max(map(len, words), default=0) > WORD_LETTERS else words


def words_of(text: str) -> list[str]:
    """Return the distinct words of a text, folded, in order."""
    return list(dict.fromkeys(every_word_of(text)))


def joined(text: str) -> str:
    """Return the words of a text joined into one."""
    return "".join(words_of(text))[:WORD_LETTERS]
