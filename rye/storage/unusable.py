"""The error for a file that only saves time and cannot be used."""

from __future__ import annotations


class UnusableError(Exception):
    """``damaged``: the file itself is bad, so that a new one can replace it."""

    def __init__(self, reason: str, *, damaged: bool) -> None:
        super().__init__(reason)
        self.damaged = damaged
