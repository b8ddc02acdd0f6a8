"""The outline of a Markdown text: ATX headings, thematic breaks, lists and quotes at the top level, and which lines are opaque.

A view of :mod:`rye.text.markdown_blocks` with one deliberate difference: only comments count as HTML blocks (DECISIONS Agents 6),
so a tag on its own line does not hide the headings below it. It leaves out headings inside fences, indented code, comments,
quotes and lists, and all setext headings (DECISIONS Agents 12).
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
    """An item of a list at the top level. ``text`` is its first paragraph; ``line`` counts from 0."""

    text: str
    line: int


class Outline(Struct, frozen=True, kw_only=True):
    """A text's lines and what they are. All line numbers count from 0."""

    lines: tuple[str, ...]
    headings: tuple[Heading, ...]
    breaks: tuple[int, ...]
    """Lines of thematic breaks at the top level, of any style."""
    items: tuple[ListItem, ...]
    quotes: tuple[tuple[int, int], ...]
    """Block quotes at the top level: the first line, and the line after the last."""
    code: frozenset[int]
    """Lines inside fences (their markers included) and indented code, at any depth."""
    comments: frozenset[int]
    """Lines of HTML comments that are blocks."""
    too_deep: int | None = None
    """The line where containers nest too deep. Nothing below it has been read, so readers must refuse the text."""

    @property
    def opaque(self) -> frozenset[int]:
        """Lines that are code or comments."""
        return self.code | self.comments

    def text(self, start: int, end: int) -> str:
        """Return the lines from ``start`` up to ``end`` (exclusive), joined, without a final line end."""
        return "\n".join(self.lines[start:end])


def outline(text: str) -> Outline:
    """Return the outline of a text (LF line endings). Never fails: every text is Markdown."""
    blocks = scan(text, only_comments=True)
    top = [container for container in blocks.containers if container.depth == 0]
    return Outline(
        lines=tuple(text.split("\n")),
        headings=tuple(Heading(h.level, h.text, h.line - 1) for h in blocks.headings if h.depth == 0 and not h.setext),
        breaks=tuple(each.line - 1 for each in blocks.breaks if each.depth == 0),
        items=tuple(ListItem(item.text, item.line - 1) for item in top if not item.quote),
        quotes=tuple((quote.line - 1, quote.end_line) for quote in top if quote.quote),
        code=_lines(blocks.code_lines),
        comments=_lines(blocks.comment_lines),
        too_deep=None if blocks.too_deep is None else blocks.too_deep - 1,
    )


def _lines(ranges: list[tuple[int, int]]) -> frozenset[int]:
    return frozenset(number - 1 for first, last in ranges for number in range(first, last + 1))
