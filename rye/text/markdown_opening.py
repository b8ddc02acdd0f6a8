"""What a Markdown text opens with: a fenced block, or a title. A view of :mod:`rye.text.markdown_blocks`.

Comments may come before either. Other HTML counts as text (DECISIONS Agents 6).
"""

from __future__ import annotations

from rye.text.markdown_blocks import scan
from rye.text.markdown_model import Blocks, Fence


def leading_fence(text: str, word: str) -> tuple[Fence | None, int]:
    """Return the fenced block that opens the text (blank lines and comments may precede it), and the line it starts on.

    If something else comes first, return None with the line of that, or with the last line if there is nothing at all.
    ``word`` is the first word expected in the block's info string; it only lets the scan stop early.
    """
    blocks = scan(text, only_comments=True, until=word)
    line = _first_line(text, blocks)
    fence = next((one for one in blocks.fences if not one.depth and one.line == line), None)
    return fence, line


def _first_line(text: str, blocks: Blocks) -> int:
    """The first line that is neither blank nor part of a comment. Skips a lone ``-->``, which older tools left behind."""
    comments = iter(blocks.comment_lines)
    first, last = next(comments, (0, 0))
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        while last and number > last:
            first, last = next(comments, (0, 0))
        if line.strip() not in ("", "-->") and not (first <= number <= last):
            return number
    return len(lines)


def title(text: str) -> str | None:
    """The text of the first level-1 heading at the top level; None if there is none, or if a fenced block comes first."""
    blocks = scan(text, only_comments=True)
    heading = next((one for one in blocks.headings if one.level == 1 and not one.depth and not one.setext), None)
    if heading is None or any(fence.line < heading.line for fence in blocks.fences):
        return None
    return heading.text
