"""Split texts and queries into words for search. Pure.

Unicode compatibility forms and accents are folded, then case, and everything except letters and digits separates words. So
nothing that a person types can become database syntax. Three names of languages keep their sign: ``c#``, ``c++`` and ``.net``
are the words ``csharp``, ``cpp`` and ``dotnet``.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

WORD_LETTERS = 64
"""Letters of a word that count."""
LEAST_LETTERS = 2
"""A query needs a word with at least this many letters."""


@cache
def _word() -> re.Pattern[str]:
    return re.compile(r"[^\W_]+")


@cache
def _signs() -> re.Pattern[str]:
    return re.compile(r"\b(?:c(?:#|\+\+)|f#)|(?<!\w)\.net\b")


_SPELT = {"c#": "csharp", "c++": "cpp", "f#": "fsharp", ".net": "dotnet"}


def every_word_of(text: str) -> list[str]:
    """Return all words of a text, folded, in order."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text)
        text = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    text = text.casefold()
    if any(sign in text for sign in _SPELT):  # a heading's # alone starts no search of the whole text
        text = _signs().sub(lambda found: f" {_SPELT[found[0]]} ", text)
    return [word[:WORD_LETTERS] for word in _word().findall(text)]


def words_of(text: str) -> list[str]:
    """Return the distinct words of a text, folded, in order."""
    return list(dict.fromkeys(every_word_of(text)))


def joined(text: str) -> str:
    """Return the words of a text joined into one."""
    return "".join(words_of(text))[:WORD_LETTERS]
