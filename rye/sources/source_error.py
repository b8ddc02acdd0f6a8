"""Errors about sources. Every code has a page in ``rye explain``."""

from __future__ import annotations

from rye.errors import RyeError


class SourceError(RyeError):
    """A source cannot be used, or is not what rye.lock says."""


class SilentSource(SourceError):
    """A repository that cannot be reached, or does not answer in time. A refusal, a certificate for another host and whatever git
    says of what it got are answers."""


def shown(text: str, most: int = 200) -> str:
    """Make foreign text safe for a message: printable, and at most ``most`` characters."""
    plain = "".join(character if character.isprintable() else "�" for character in text)
    return plain if len(plain) <= most else f"{plain[:most]}…"
