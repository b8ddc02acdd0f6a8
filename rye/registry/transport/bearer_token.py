"""A token in the form of an HTTP header."""

from __future__ import annotations

from rye.errors import RyeError


def bearer(token: str) -> str:
    """Return the value of ``Authorization``.

    Raises RyeError ``invalid-value`` for a token that could break out of its header.
    """
    if not (token and token.isascii() and token.isprintable() and " " not in token):
        raise RyeError(
            "invalid-value",
            "The token contains whitespace or invalid characters.",
            "Copy the whole token again.",
            what="token",
        )
    return f"Bearer {token}"
