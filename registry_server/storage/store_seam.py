"""What all stores of objects agree on."""

from __future__ import annotations

ABSENT = ""
"""The tag of an object that does not exist."""


YOUNG_SECONDS = 3600.0
"""How long an object counts as just written: `put_all` leaves it alone, and clean-up does."""


class ChangedError(Exception):
    """The object is not the one that the caller has seen: another process replaced it."""
