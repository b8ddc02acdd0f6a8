"""The words of an item's text by which search finds it: those that tell most. Pure.

All of a text's stems would make an index many times as large as ids and descriptions do. The forty that tell most find nearly as
much (``benchmarks/search_quality.py``). They are chosen once, when the item is published or read, and kept as text: each stem
with how often it occurs, in tenths, beside the length of the text. ``dicom:47 mri:20``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from rye.text.ranking.frequencies import stop_words, weight_of
from rye.text.ranking.stemming import stem
from rye.text.ranking.words import LEAST_LETTERS, every_word_of

TEXT_WORDS = 1_000
"""Words of a text that are read, from its beginning."""
TEXT_LETTERS = 32_768
"""Letters of a text that are read."""
MOST_STEMS = 40
STEM_LETTERS = 20
"""Longer stems are left out: they are hashes and encoded data."""
MOST_OFTEN = 200
"""The most that counts, in tenths: a word that is repeated without end tells no more than twenty occurrences."""
LENGTH_COUNTS, USUAL_WORDS = 0.7, 400
"""BM25's *b*, and the usual length."""
_TENTHS = {str(number): number for number in range(1, MOST_OFTEN + 1)}
"""The usual spelling of what counts."""
_KNOWN = 16_384
"""Words whose stem and weight are remembered."""
BODY_LETTERS = MOST_STEMS * (STEM_LETTERS + len(f":{MOST_OFTEN} "))
"""The most letters of :func:`body_words`."""


def body_words(text: str) -> str:
    """Return the stems of a text that tell most, each with how often it occurs, sorted."""
    telling, counts, weights = 0, dict[str, int](), dict[str, float]()
    for word, count in Counter(every_word_of(text[:TEXT_LETTERS])[:TEXT_WORDS]).items():
        stemmed = _stem_and_weight(word)
        if stemmed is not None:
            telling += count
            stem_, weights[stem_] = stemmed
            counts[stem_] = counts.get(stem_, 0) + count
    length = 1 - LENGTH_COUNTS + LENGTH_COUNTS * telling / USUAL_WORDS
    told = [word for word in counts if len(word) <= STEM_LETTERS]
    if len(told) > MOST_STEMS:
        told = [word for _, word in sorted([(-counts[word] * weights[word], word) for word in told])[:MOST_STEMS]]
    tenths = {count: min(max(round(10 * count / length), 1), MOST_OFTEN) for count in set(counts.values())}
    return " ".join([f"{word}:{tenths[counts[word]]}" for word in sorted(told)])


@lru_cache(_KNOWN)
def _stem_and_weight(word: str) -> tuple[str, float] | None:
    """Return the stem of a folded word and how much it tells; None for a word that tells nothing."""
    if word in stop_words() or len(word) < LEAST_LETTERS or word.isdigit():
        return None
    stemmed = stem(word)
    return stemmed, weight_of(stemmed)


def often(told: str) -> Iterator[tuple[str, int]]:
    """Yield each stem of :func:`body_words` with how often it occurs, in tenths. What has another form is left out."""
    for each in told.split():
        word, _, tenths = each.partition(":")
        number = _TENTHS.get(tenths)
        if number is None and tenths.isascii() and tenths.isdigit():
            number = min(int(tenths), MOST_OFTEN)
        if word and number is not None:
            yield word, number
