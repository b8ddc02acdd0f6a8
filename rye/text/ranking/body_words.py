"""The words of an item's text by which search finds it: those that tell most. Pure.

All of a text's stems would make an index many times as large as ids and descriptions do. The forty that tell most find nearly as
much (``benchmarks/search_quality.py``). They are chosen once, when the item is published or read, and kept as text: each stem
with how often it occurs, in tenths, beside the length of the text. ``dicom:47 mri:20``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

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
BODY_LETTERS = MOST_STEMS * (STEM_LETTERS + len(f":{MOST_OFTEN} "))
"""The most letters of :func:`body_words`."""


def body_words(text: str) -> str:
    """Return the stems of a text that tell most, each with how often it occurs, sorted."""
    stops, telling, counts = stop_words(), 0, dict[str, int]()
    for word, count in Counter(every_word_of(text[:TEXT_LETTERS])[:TEXT_WORDS]).items():
        if word not in stops and len(word) >= LEAST_LETTERS and not word.isdigit():
            telling += count
            stemmed = stem(word)
            counts[stemmed] = counts.get(stemmed, 0) + count
    length = 1 - LENGTH_COUNTS + LENGTH_COUNTS * telling / USUAL_WORDS
    told = {word: count * weight_of(word) for word, count in counts.items() if len(word) <= STEM_LETTERS}
    chosen = sorted(told, key=lambda word: (-told[word], word))[:MOST_STEMS]
    return " ".join(f"{word}:{min(max(round(10 * counts[word] / length), 1), MOST_OFTEN)}" for word in sorted(chosen))


def often(told: str) -> Iterator[tuple[str, int]]:
    """Yield each stem of :func:`body_words` with how often it occurs, in tenths. What has another form is left out."""
    for each in told.split():
        word, _, tenths = each.partition(":")
        if word and tenths.isascii() and tenths.isdigit():
            yield word, min(int(tenths), MOST_OFTEN)
