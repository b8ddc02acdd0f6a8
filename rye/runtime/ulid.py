"""Names of runs: ULIDs, 48 bits of milliseconds and 80 random bits in Crockford's base 32, so that names sort by time."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta

_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_FORM = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")


def new_ulid(now: datetime, random: bytes | None = None) -> str:
    """Return a new name of 26 characters; ``random``: 10 bytes, by default from the system."""
    number = int(now.timestamp() * 1000) << 80 | int.from_bytes(random or os.urandom(10), "big")
    return "".join(_LETTERS[number >> shift & 31] for shift in range(125, -1, -5))


def time_of(ulid: str) -> datetime:
    """Return the time that a name encodes, at most ``datetime.max``."""
    number = 0
    for letter in ulid[:10]:
        number = number << 5 | _LETTERS.index(letter)
    try:
        return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=number)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def is_ulid(text: str) -> bool:
    """Whether a text is a ULID in canonical upper case."""
    return _FORM.fullmatch(text) is not None
