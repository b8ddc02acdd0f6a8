"""Names of runs: ULIDs, 48 bits of milliseconds and 80 random bits in Crockford's base 32, so that names sort by time."""

from __future__ import annotations

import os
import re
from datetime import datetime

_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_FORM = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")


def new_ulid(now: datetime, random: bytes | None = None) -> str:
    """26 characters; ``random``: 10 bytes, else the system's."""
    number = int(now.timestamp() * 1000) << 80 | int.from_bytes(random or os.urandom(10), "big")
    return "".join(_LETTERS[number >> shift & 31] for shift in range(125, -1, -5))


def is_ulid(text: str) -> bool:
    return _FORM.fullmatch(text) is not None
