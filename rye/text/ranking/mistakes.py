"""Correct mistyped words by known ones. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from rye.text.ranking.words import joined, words_of

_REMEMBERED = 1_024
"""Ids whose words are remembered: those of a batch are needed twice."""
CORRECTED_LETTERS = 4
"""Shorter words are not corrected."""
KNOWN_LETTERS = 32
"""Longer words are not used as corrections."""
CORRECTIONS = 4
"""Corrections of one mistyped word."""
COMPARED = 50
"""Known words that are compared with a mistyped one: those that share the most trigrams."""
GRAMS = 16
"""Trigrams of a mistyped word that are looked for."""


def id_words(identifier: str) -> list[str]:
    """Return the words of an id, and each segment joined into one word."""
    return list(dict.fromkeys([*words_of(identifier), *(joined(segment) for segment in identifier.split("/"))]))


@lru_cache(_REMEMBERED)
def corrections_for(identifier: str) -> tuple[str, ...]:
    """Return the words of an id that can serve as corrections."""
    return tuple(word for word in id_words(identifier) if CORRECTED_LETTERS <= len(word) <= KNOWN_LETTERS)


def grams_of(word: str) -> list[str]:
    """Return the trigrams of a word. ``^`` and ``$``, which no word contains, mark its ends."""
    marked = f"^{word}$"
    return list(dict.fromkeys(marked[start : start + 3] for start in range(len(marked) - 2)))


def allowed_mistakes(word: str) -> int:
    """Return how many typing mistakes are corrected in a word."""
    return 0 if len(word) < CORRECTED_LETTERS else 1 if len(word) < 8 else 2


def meant(word: str, known: Iterable[str]) -> list[str]:
    """Return the known words that ``word`` may be a mistyping of, fewest mistakes first."""
    allowed = allowed_mistakes(word)
    if not allowed:
        return []
    near = {other for other in known if abs(len(other) - len(word)) <= allowed}
    return nearest(word, _sharing_most(grams_of(word)[:GRAMS], word, near), CORRECTIONS)


def _sharing_most(grams: Sequence[str], word: str, known: Iterable[str]) -> list[str]:
    """Return the words that share the most trigrams with ``word``, without itself."""
    shared = [(-sum(map(f"^{other}$".__contains__, grams)), other) for other in known if other != word]
    return [other for few, other in sorted(shared)[:COMPARED] if few]


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
    if len(set(word).difference(other)) > most or len(set(other).difference(word)) > most:
        return most + 1  # a mistake brings or removes one letter at most
    word, other = _where_they_differ(word, other)
    if not word or not other:
        return len(word) + len(other)
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


def _where_they_differ(word: str, other: str) -> tuple[str, str]:
    """Return two words without the beginning and the end that they share: these add no mistakes."""
    start, least = 0, min(len(word), len(other))
    while start < least and word[start] == other[start]:
        start += 1
    end = 0
    while end < least - start and word[-1 - end] == other[-1 - end]:
        end += 1
    return word[start : len(word) - end], other[start : len(other) - end]
