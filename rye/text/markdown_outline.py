"""The outline of a Markdown text: ATX headings, thematic breaks, lists and quotes at the top level, and which lines are opaque.

A view of :mod:`rye.text.markdown_blocks`, with the one difference that is decided: of HTML blocks only comments count (DECISIONS
Agents 6), so a tag on a line of its own does not hide the headings below it. Headings inside fences, indented code, comments,
quotes and lists are none; setext headings are left out (DECISIONS Agents 12).
"""

from __future__ import annotations

from msgspec import Struct

from rye.text.markdown_blocks import scan


class Heading(Struct, frozen=True):
    """An ATX heading at the top level. ``line`` counts from 0 in the text."""

    level: int
    text: str
    line: int


class ListItem(Struct, frozen=True):
    """One item of a list at the top level; ``text`` is the paragraph it starts with, ``line`` counts from 0."""

    text: str
    line: int


class Outline(Struct, frozen=True):
    """What a text's lines are. All line numbers count from 0."""

    lines: tuple[str, ...]
    headings: tuple[Heading, ...]
    breaks: tuple[int, ...]
    """Lines of thematic breaks at the top level, whatever their character."""
    items: tuple[ListItem, ...]
    quotes: tuple[tuple[int, int], ...]
    """Blockquotes at the top level: first line, line after the last."""
    code: frozenset[int]
    """Lines inside fences (their markers included) and indented code, at any depth."""
    comments: frozenset[int]
    """Lines of HTML comments that stand as blocks."""
    too_deep: int | None = None
    """Where containers nest deeper than we follow: what comes after is not read, so readers refuse the text."""

    @property
    def opaque(self) -> frozenset[int]:
        """Lines whose text is code or comment."""
        return self.code | self.comments

    def text(self, start: int, end: int) -> str:
        """The lines from ``start`` up to ``end``, without a line end after the last."""
        return "\n".join(self.lines[start:end])


def outline(text: str) -> Outline:
    """The outline of a text (LF line endings). Never fails: every text is Markdown."""
    blocks = scan(text, only_comments=True)
    top = [container for container in blocks.containers if container.depth == 0]
    return Outline(
        tuple(text.split("\n")),
        tuple(Heading(h.level, h.text, h.line - 1) for h in blocks.headings if h.depth == 0 and not h.setext),
        tuple(each.line - 1 for each in blocks.breaks if each.depth == 0),
        tuple(ListItem(item.text, item.line - 1) for item in top if not item.quote),
        tuple((quote.line - 1, quote.end_line) for quote in top if quote.quote),
        _lines(blocks.code_lines),
        _lines(blocks.comment_lines),
        None if blocks.too_deep is None else blocks.too_deep - 1,
    )


def _lines(ranges: list[tuple[int, int]]) -> frozenset[int]:
    return frozenset(number - 1 for first, last in ranges for number in range(first, last + 1))
