"""Escape text from a file for use in a message, so that it cannot move the cursor, hide a word or forge a line."""

from __future__ import annotations

import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def visible(text: str) -> str:
    """``text`` with control, format and line-separating characters written as ``\\u{…}``."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"\\u{{{ord(c):x}}}" if unicodedata.category(c) in _HIDDEN else c for c in text)
