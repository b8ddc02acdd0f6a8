"""Names of runs: ULIDs, 48 bits of milliseconds and 80 random bits in Crockford's base 32, so that names sort by time."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta

_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_FORM = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")


def new_ulid(now: datetime, random: bytes | None = None) -> str:
    """26 characters; ``random``: 10 bytes, else the system's."""
    number = int(now.timestamp() * 1000) << 80 | int.from_bytes(random or os.urandom(10), "big")
    return "".join(_LETTERS[number >> shift & 31] for shift in range(125, -1, -5))


def time_of(ulid: str) -> datetime:
    """When it was made, as its name says; the last time that there is where the name says a later one."""
    number = 0
    for letter in ulid[:10]:
        number = number << 5 | _LETTERS.index(letter)
    try:
        return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=number)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def is_ulid(text: str) -> bool:
    return _FORM.fullmatch(text) is not None
