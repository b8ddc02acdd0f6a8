"""A private key as words for paper: 18 words that can be said, of five letters each, with a checksum.

::

    bytes = seed, 32 bytes ‖ the first 4 bytes of SHA-256("rye paper key v1" LF ‖ seed)
    word  = two of these bytes, 16 bits: consonant (4 bits), vowel (2), consonant (4), vowel (2), consonant (4)

with the consonants ``bdfghjklmnprstvz`` and the vowels ``aiou`` (proquints, arXiv:0901.4016). One mistyped letter is found: it
makes no word, or the checksum wrong.
"""

from __future__ import annotations

import hashlib
import re

from rye.errors import RyeError
from rye.signing.keys import PrivateKey
from rye.text.qr import picture

_CONSONANTS, _VOWELS = "bdfghjklmnprstvz", "aiou"
_PATTERN = (_CONSONANTS, _VOWELS, _CONSONANTS, _VOWELS, _CONSONANTS)
_BITS = (4, 2, 4, 2, 4)
WORDS = 18
_IN_ROW = 3
_ROW = re.compile(rf"^(?: *[0-9]{{1,2}}\. +[A-Za-z]+){{{_IN_ROW}}} *\r?$", re.MULTILINE)
"""A row of words on a page."""


def words_of(key: PrivateKey) -> tuple[str, ...]:
    """The 18 words of a key."""
    data = key.seed + _checksum(key.seed)
    return tuple(_word(int.from_bytes(data[at : at + 2], "big")) for at in range(0, len(data), 2))


def key_of(text: str) -> PrivateKey:
    """Read the words, or the whole page that :func:`page` makes. Upper case, line ends and the numbers before the words do not
    matter. Raises RyeError ``bad-key``."""
    on_page = _ROW.findall(text)
    text = " ".join(on_page) if len(on_page) * _IN_ROW == WORDS else text
    words = [word.lower() for word in re.split(r"[\s.]+", text) if word and not word.isdigit()]
    for number, word in enumerate(words, 1):
        if len(word) != len(_PATTERN) or any(letter not in row for letter, row in zip(word, _PATTERN, strict=True)):
            hint = "Every word is five letters: consonant, vowel, consonant, vowel, consonant, of bdfghjklmnprstvz and aiou."
            raise RyeError("bad-key", f"Word {number} is none of a paper key: {word[:20]!r}.", hint)
    if len(words) != WORDS:
        raise RyeError(
            "bad-key", f"A paper key has {WORDS} words, and these are {len(words)}.", "Type all of them, in order."
        )
    data = b"".join(_value(word).to_bytes(2, "big") for word in words)
    if data[32:] != _checksum(data[:32]):
        hint = "Compare each word with the paper; one is mistyped, or two are swapped."
        raise RyeError("bad-key", "The words of the paper key do not fit together: their checksum is wrong.", hint)
    return PrivateKey(data[:32])


def page(name: str, key: PrivateKey) -> str:
    """What is printed: the words, and a QR code of them. ``name``: of the key.

    The paper has the key as it is, without the passphrase that seals it on the disk.
    """
    words = words_of(key)
    rows = [
        "  ".join(f"{at + 1:2}. {words[at]}" for at in range(row, row + _IN_ROW)) for row in range(0, WORDS, _IN_ROW)
    ]
    head = (
        f"The private key {name!r} of Rye. Whoever has this paper can sign as you.",
        f"fingerprint  {key.public.fingerprint}",
        "To read it back: rye keys import --paper",
    )
    return "\n".join((*head, "", *rows, "", picture(" ".join(words).upper()))) + "\n"


def _checksum(seed: bytes) -> bytes:
    return hashlib.sha256(b"rye paper key v1\n" + seed).digest()[:4]


def _word(value: int) -> str:
    letters = []
    for row, bits in zip(reversed(_PATTERN), reversed(_BITS), strict=True):
        letters.append(row[value & ((1 << bits) - 1)])
        value >>= bits
    return "".join(reversed(letters))


def _value(word: str) -> int:
    value = 0
    for letter, row, bits in zip(word, _PATTERN, _BITS, strict=True):
        value = value << bits | row.index(letter)
    return value
