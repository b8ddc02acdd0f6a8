"""What bounds the comparison of two versions: the one place of its numbers."""

from __future__ import annotations

from msgspec import Struct

from rye.limits import KIB, MIB


class ComparisonLimits(Struct, frozen=True):
    """Sizes in bytes, lengths in characters."""

    context_lines: int = 3
    """Lines that stay, shown on each side of a change."""
    line_characters: int = 600
    """Shown of one line."""
    compared_characters: int = 400
    """Of a line whose changed words are marked one by one; of a longer one the part that changed is marked as a whole."""
    text_bytes: int = 1 * MIB
    """A file that is compared line by line; a larger one is only said to differ."""
    all_text_bytes: int = 4 * MIB
    """All files of both sides that are."""
    all_lines: int = 80_000
    """Lines of all of them."""
    facts_bytes: int = 512 * KIB
    """Text of one side that facts are looked for in."""
    page_characters: int = 30_000
    """HTML of a comparison's rows and lines on one page; the others are on the next ones."""
    stage_characters: int = 16_000
    """The same on the page of a release that waits for a signature, which has no further pages."""
    kept_bytes: int = 128 * MIB
    """Comparisons that are kept."""
    kept_factor: int = 4
    """What one takes in memory for each byte of both versions, and"""
    kept_row_bytes: int = 1_000
    """for each row or line: these are values, not bytes."""
    others: int = 12
    """Other versions to compare with that are listed."""


COMPARISON = ComparisonLimits()
