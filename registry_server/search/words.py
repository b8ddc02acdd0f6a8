"""Split texts into words for search, and correct mistyped words. Pure.

Texts and queries are split in the same way: Unicode compatibility forms and accents are folded, then case, and
everything except letters and digits separates words. So nothing that a person types can become database syntax.

An item's words become *tokens*, the same set on every database:

=========  ================================================================
``word``   a word anywhere: id, description, keywords, kind
``/word``  a word of the id's last segment, which is its name
``!name``  the whole name, its words joined
``=name``  the namespace
``:kind``  the kind
=========  ================================================================

A segment of several words is also indexed as one word, so ``filesystem`` finds ``file-system``.

SQLite finds the beginnings of tokens itself. On PostgreSQL the index has two more sorts of tokens:

============  =============================================================
``wo*``       a beginning of a word, also as ``/wo*``
``#16384.6``  a block of items to which the item belongs (:func:`blocks_of`)
============  =============================================================

So each part of a query is one token with a sorted list of items, and lists are intersected without reading them in full.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

WORD_LETTERS = 64
"""Letters of a word that are indexed."""
DOCUMENT_WORDS = 400
"""Different words of one item that are indexed."""
QUERY_WORDS = 8
"""Words of a query that are used."""
LEAST_LETTERS = 2
"""A query needs a word with at least this many letters."""
PREFIX_LETTERS = 15
"""A word of a query up to this length matches all words that begin with it; a longer one matches only itself."""
BLOCK_ITEMS = (16_384, 131_072)
"""Items of a small and of a large block. Blocks of one size overlap by half, so that the newest one always has between half
as many and as many."""
CORRECTED_LETTERS = 4
"""Shorter words are not corrected."""
KNOWN_LETTERS = 32
"""Longer words are not used as corrections."""


@cache
def _word() -> re.Pattern[str]:
    return re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    """Return the distinct words of a text, folded, in order."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text)
        text = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return list(dict.fromkeys(word[:WORD_LETTERS] for word in _word().findall(text.casefold())))


def query_words(query: str) -> list[str]:
    """Return the words of a query; empty if no word is long enough."""
    words = words_of(query)[:QUERY_WORDS]
    return words if any(len(word) >= LEAST_LETTERS for word in words) else []


def id_words(identifier: str) -> list[str]:
    """Return the words of an id, and each segment joined into one word."""
    return list(dict.fromkeys([*words_of(identifier), *(joined(segment) for segment in identifier.split("/"))]))


def segment_of(identifier: str) -> str:
    """Return the words of an id's last segment between hyphens, so that SQL can look for ``-word`` and ``-word-``."""
    return f"-{'-'.join(words_of(identifier.rpartition('/')[2]))}-"


def joined(text: str) -> str:
    """Return the words of a text joined into one."""
    return "".join(words_of(text))[:WORD_LETTERS]


def tokens_of(kind: str, identifier: str, description: str, keywords: str) -> frozenset[str]:
    """Return the tokens of an item."""
    name = identifier.rpartition("/")[2]
    of_id = id_words(identifier)
    rest = words_of(f"{kind} {description} {keywords}")
    return frozenset(
        (
            *list(dict.fromkeys([*of_id, *rest]))[:DOCUMENT_WORDS],
            *(f"/{word}" for word in id_words(name)),
            f"!{joined(name)}",
            namespace_token(identifier.partition("/")[0]),
            kind_token(kind),
        )
    )


def namespace_token(namespace: str) -> str:
    """Return the token of a namespace."""
    return f"={namespace}"


def kind_token(kind: str) -> str:
    """Return the token of a kind."""
    return f":{kind}"


def beginnings_of(tokens: Iterable[str]) -> frozenset[str]:
    """Return the tokens for the beginnings of words, as a query asks for them (``is_prefix``)."""
    beginnings: set[str] = set()
    for token in tokens:
        if token[0] not in "!=:":
            marks = int(token[0] == "/")
            last = min(len(token), PREFIX_LETTERS + marks)
            beginnings.update(f"{token[:letters]}*" for letters in range(LEAST_LETTERS + marks, last + 1))
    return frozenset(beginnings)


def blocks_of(number: int) -> list[str]:
    """Return the tokens of the blocks to which an item belongs: for each size the even and the odd one."""
    return [token for size in BLOCK_ITEMS for token in _blocks_of(number, size)]


def newest_blocks(largest: int) -> list[str]:
    """Return the token of the newest block of each size, smallest first. ``largest``: the newest item's number.

    A size is left out if there are so few items that looking in a block first saves nothing.
    """
    return [
        _blocks_of(largest, size)[largest % size < size // 2]
        for size in BLOCK_ITEMS
        if largest > _BLOCKS_THAT_PAY * size
    ]


_BLOCKS_THAT_PAY = 2


def _blocks_of(number: int, size: int) -> tuple[str, str]:
    return f"#{size}.{2 * (number // size)}", f"#{size}.{2 * ((number + size // 2) // size) + 1}"


def corrections_for(identifier: str) -> list[str]:
    """Return the words of an id that can serve as corrections."""
    return [word for word in id_words(identifier) if CORRECTED_LETTERS <= len(word) <= KNOWN_LETTERS]


def grams_of(word: str) -> list[str]:
    """Return the trigrams of a word. ``^`` and ``$``, which no word contains, mark its ends."""
    marked = f"^{word}$"
    return list(dict.fromkeys(marked[start : start + 3] for start in range(len(marked) - 2)))


def allowed_mistakes(word: str) -> int:
    """Return how many typing mistakes are corrected in a word."""
    return 0 if len(word) < CORRECTED_LETTERS else 1 if len(word) < 8 else 2


def nearest(word: str, others: Iterable[str], most: int) -> list[str]:
    """Return at most ``most`` known words that ``word`` may be a mistyping of, fewest mistakes first."""
    allowed = allowed_mistakes(word)
    near = [(mistakes, other) for other in others if (mistakes := mistakes_between(word, other, allowed)) <= allowed]
    return [other for _, other in sorted(near)[:most]]


def mistakes_between(word: str, other: str, most: int) -> int:
    """Return the distance of two words (optimal string alignment: extra, missing, wrong and swapped letters).

    A distance above ``most`` is returned as ``most + 1``.
    """
    if abs(len(word) - len(other)) > most:
        return most + 1
    before: list[int] = []
    above = list(range(len(other) + 1))
    for row, letter in enumerate(word, 1):
        line = [row]
        for column, its in enumerate(other, 1):
            cost = min(above[column] + 1, line[column - 1] + 1, above[column - 1] + (letter != its))
            if row > 1 and column > 1 and letter == other[column - 2] and word[row - 2] == its:
                cost = min(cost, before[column - 2] + 1)
            line.append(cost)
        if min(line) > most:
            return most + 1
        before, above = above, line
    return min(above[-1], most + 1)
