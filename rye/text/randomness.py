"""Whether a value was drawn by a machine or written by a person: what tells a secret from a placeholder.

A drawn value has letters and digits in no order. What a person writes in its place consists of words, of rows such as ``123``
and ``ABC``, of one character again and again, or of letters replaced in a word (``P@ssw0rd``). These are taken out; what
remains is the residue, and its length, its kinds of characters and how often they repeat decide. Every pattern is linear.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Final, NamedTuple

#: Words of placeholders, after letters were put back in their place.
_WORDS: Final = (
    "authentication administrator organization placeholder environment credentials development application production "
    "postgresql superadmin superuser changeme password username database internal personal endpoint insecure provider rabbitmq "
    "postgres mariadb mongodb supabase platform generate security redacted openssl account staging project welcome example "
    "replace service storage session minimum default private testing letmein passwd secret access client server bearer "
    "openai github gitlab google stripe sample public string random qwerty abcdef anthropic docker config master cookie "
    "signing refresh webhook minio admin token value dummy local mysql redis azure hello world guest here your pass "
    "user root test demo fake none null true real live prod auth main keys some that this with from name jwt key api app dev "
    "env aws foo bar baz the and for not use set get my db id"
)
_WORD = re.compile("|".join(sorted(_WORDS.split(), key=len, reverse=True)))
#: A run of letters of one case that can be spoken: a word that the list lacks.
_SPOKEN = re.compile(r"[A-Z]?[a-z]{4,}|[A-Z]{5,}")
_VOWEL = re.compile(r"[aeiouyAEIOUY]")
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxzBCDFGHJKLMNPQRSTVWXZ]{4}")
_REPEATED = re.compile(r"(.)\1{2,}|(.{2,8}?)\2{3,}", re.DOTALL)
_LEET: Final = str.maketrans("@$01345!", "asoleasi")
_TAKEN: Final = "\0"
_ROW: Final = 3
"""This many neighbours in the alphabet, upwards or downwards, are a row."""
_LONGEST: Final = 400
"""Characters of a value that are looked at."""


class Residue(NamedTuple):
    """What of a value no person would write."""

    text: str
    classes: int
    """How many of lower case, upper case and digits it has."""
    bits: float
    """Shannon's entropy of a character, in bits: 0 to about 6."""


def residue(value: str, *, spoken: bool = True) -> Residue:
    """The letters and digits of ``value`` without words, rows and repetitions. Only the first 400 characters are looked at.

    ``spoken``: also without letters that could be a word which no list has.
    """
    kept = _REPEATED.sub(lambda match: _TAKEN * len(match[0]), value[:_LONGEST])
    plain = kept.lower().translate(_LEET)
    if len(plain) == len(kept):
        for match in _WORD.finditer(plain):
            if match.end() - match.start() > _ROW or _stands_alone(kept, match.start(), match.end()):
                kept = f"{kept[: match.start()]}{_TAKEN * (match.end() - match.start())}{kept[match.end() :]}"
    if spoken:
        kept = _SPOKEN.sub(_without_spoken, kept)
    text = "".join(character for character in _without_rows(kept) if character.isascii() and character.isalnum())
    classes = sum(any(test(character) for character in text) for test in (str.islower, str.isupper, str.isdigit))
    counted = Counter(text)
    bits = -sum(count / len(text) * math.log2(count / len(text)) for count in counted.values()) if text else 0.0
    return Residue(text, classes, bits)


def is_drawn(value: str, *, least: int = 8) -> bool:
    """Whether a machine drew ``value``: at least ``least`` characters remain, in no order, and not of one kind alone.

    Eight characters need upper case, lower case and digits; twelve need two of them; hexadecimal digits are held to twelve.
    """
    left = residue(value)
    if len(left.text) < least or left.bits < _LEAST_BITS:
        return False
    if left.classes == _ALL_CLASSES:
        return True
    return left.classes > 1 and len(left.text) >= max(least, _TWO_CLASSES)


_LEAST_BITS: Final = 2.5
_ALL_CLASSES: Final = 3
_TWO_CLASSES: Final = 12


def _stands_alone(value: str, start: int, end: int) -> bool:
    """Whether a short word is one: no letter of its case is beside it (``my-key``, ``dbPass``, not ``kdbq``)."""
    before, after = value[start - 1 : start], value[end : end + 1]
    opens = not before.isalpha() or (before.islower() and value[start].isupper())
    closes = not after.isalpha() or (value[end - 1].islower() and after.isupper())
    return opens and closes and value[start:end].isalpha()


def _without_spoken(match: re.Match[str]) -> str:
    spoken = _VOWEL.search(match[0]) is not None and _CONSONANTS.search(match[0]) is None
    return _TAKEN * len(match[0]) if spoken else match[0]


def _without_rows(value: str) -> str:
    """The value without rows of neighbours: ``abc``, ``4321``."""
    taken: set[int] = set()
    for step in (1, -1):
        begun = 0
        for at in range(1, len(value) + 1):
            goes_on = at < len(value) and value[at].isalnum() and ord(value[at]) - ord(value[at - 1]) == step
            if not goes_on:
                if at - begun >= _ROW:
                    taken.update(range(begun, at))
                begun = at
    return "".join(character for at, character in enumerate(value) if at not in taken)
