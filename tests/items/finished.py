"""Items whose template placeholders are replaced with an author's own words."""

from __future__ import annotations

from rye.items.placeholder_text import PHRASES


def finished(text: str) -> str:
    """The text with every template placeholder replaced."""
    for phrase in PHRASES:
        text = text.replace(phrase, "Words of ours ")
    return text
