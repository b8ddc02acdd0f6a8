"""A token as an HTTP header carries it."""

from __future__ import annotations

from rye.errors import RyeError


def bearer(token: str) -> str:
    """The value of ``Authorization``. Raises RyeError ``bad-token`` for a token that could end its header."""
    if not (token and token.isascii() and token.isprintable() and " " not in token):
        raise RyeError(
            "bad-token", "The token contains whitespace or invalid characters.", "Copy the whole token again."
        )
    return f"Bearer {token}"
