"""Reduce English words to stems, so that ``merging`` finds ``merges``. Pure.

The algorithm is M. F. Porter's ("An algorithm for suffix stripping", Program 14(3), 1980), with the two changes that its author
published later (``-bli`` and ``-logi``). Words with a letter outside a to z, or of three letters and fewer, stay as they are.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

_KNOWN = 65_536
"""Stems that are remembered: far more than the words of a language that occur in practice."""

_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"), ("logi", "log"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip


@lru_cache(_KNOWN)
def stem(word: str) -> str:
    """Return the stem of a folded word."""
    if len(word) <= 3 or not (word.isascii() and word.isalpha()):
        return word
    for step in (_plurals, _past, _ending_y, _step_2, _step_3, _step_4, _final_e, _final_l):
        word = step(word)
    return word


def _plurals(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        rest = word.removesuffix(ending)
        if rest != word:
            return _restored(rest) if _has_vowel(rest) else word
    return word


def _restored(word: str) -> str:
    """Return what is left of a word without ``-ed`` or ``-ing`` as it is spelt alone."""
    if word.endswith(("at", "bl", "iz")):
        return f"{word}e"
    if _ends_double(word) and word[-1] not in "lsz":
        return word[:-1]
    return f"{word}e" if _measure(word) == 1 and _ends_short(word) else word


def _ending_y(word: str) -> str:
    return f"{word[:-1]}i" if word.endswith("y") and _has_vowel(word[:-1]) else word


def _step_2(word: str) -> str:
    return _replaced(word, _STEP_2)


def _step_3(word: str) -> str:
    return _replaced(word, _STEP_3)


def _replaced(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    for ending, by in endings:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            return rest + by if _measure(rest) > 0 else word
    return word


def _step_4(word: str) -> str:
    ending = max((each for each in _STEP_4 if word.endswith(each)), key=len, default="")
    rest = word[: len(word) - len(ending)]
    fits = ending and _measure(rest) > 1 and (ending != "ion" or rest.endswith(("s", "t")))
    return rest if fits else word


def _final_e(word: str) -> str:
    if not word.endswith("e"):
        return word
    measure = _measure(word[:-1])
    return word[:-1] if measure > 1 or (measure == 1 and not _ends_short(word[:-1])) else word


def _final_l(word: str) -> str:
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _shape(word: str) -> str:
    """Return ``v`` for each vowel and ``c`` for each consonant. A ``y`` after a consonant is a vowel."""
    shape = ""
    for letter in word:
        is_vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if is_vowel else "c"
    return shape


@cache
def _pairs() -> re.Pattern[str]:
    return re.compile(r"v+c")


def _measure(word: str) -> int:
    """Return how often a vowel is followed by a consonant: Porter's *m*."""
    return len(_pairs().findall(_shape(word)))


def _has_vowel(word: str) -> bool:
    return "v" in _shape(word)


def _ends_double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _shape(word)[-1] == "c"


def _ends_short(word: str) -> bool:
    """Whether the word ends with consonant, vowel, consonant, the last one not ``w``, ``x`` or ``y``."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"
