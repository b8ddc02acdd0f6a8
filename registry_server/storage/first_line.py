"""What a library's error says, in one line: several raise pages of their own internals."""

from __future__ import annotations

_CHARACTERS = 300


def first_line(error: BaseException) -> str:
    """The first line of the error's text, at most 300 characters; its type's name where it says nothing."""
    text = str(error).strip()
    return text.splitlines()[0][:_CHARACTERS] if text else type(error).__name__
