"""Items with an author's own words where a template says what goes there."""

from __future__ import annotations

from rye.items.placeholder_text import PHRASES


def finished(text: str) -> str:
    """The text without anything that a template left to replace."""
    for phrase in PHRASES:
        text = text.replace(phrase, "Words of ours ")
    return text
