"""The error of a file that only saves time and that cannot be used."""

from __future__ import annotations


class UnusableError(Exception):
    """``damaged``: something is wrong with the file itself, so that a new one may take its place."""

    def __init__(self, reason: str, *, damaged: bool) -> None:
        super().__init__(reason)
        self.damaged = damaged
