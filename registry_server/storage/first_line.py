"""The first line of a library's error: some libraries raise pages about their own internals."""

from __future__ import annotations

_CHARACTERS = 300


def first_line(error: BaseException) -> str:
    """Return the first line of the error's text, at most 300 characters; the name of its type if it has no text."""
    text = str(error).strip()
    return text.splitlines()[0][:_CHARACTERS] if text else type(error).__name__
