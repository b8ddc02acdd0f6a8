"""A Markdown text as editable sections: its headings, each with the lines up to the next one (DECISIONS Overrides 8, 10).

A view of :mod:`rye.text.markdown_blocks`. A section starts at an ATX heading at the top level, exactly where CommonMark sees one:
not in frontmatter, code, HTML blocks, comments, quotes or list items. Setext headings are neither targets nor boundaries; they
are only reported (DECISIONS Overrides 8).
"""

from __future__ import annotations

from msgspec import Struct

from rye.text.markdown_blocks import scan
from rye.text.markdown_model import Blocks


class Block(Struct, frozen=True):
    """A heading with the lines up to the next heading of any level: ``lines[start:end]``. Level 0: text before any heading."""

    level: int
    text: str
    start: int
    end: int


class Sections(Struct, frozen=True):
    """The blocks of a list of lines. They cover it without gaps; indexes count from 0."""

    blocks: tuple[Block, ...]
    setext: tuple[int, ...]
    """The underlines of setext headings, except under table rows, where the author did not mean a heading."""
    open_at_end: str | None
    """What is still open at the last line, in words, or None."""
    too_deep: int | None
    """The line where quotes and lists nest too deep to read. If set, do not rely on the blocks."""


def blocks_of(lines: list[str], start: int = 0) -> Blocks:
    """Return the block structure of ``lines[start:]``; its line numbers count from 1 at ``start``."""
    return scan("\n".join(lines[start:] if start else lines))


def sections(lines: list[str], start: int = 0) -> Sections:
    """Return the sections of ``lines[start:]``. A block of level 0 comes first only if there is text before the first heading."""
    found = blocks_of(lines, start)
    blocks: list[Block] = []
    setext: list[int] = []
    level, text, begun = 0, "", start
    for heading in found.headings:
        if heading.depth:
            continue
        index = start + heading.line - 1
        if heading.setext:
            if not lines[index - 1].lstrip(" \t").startswith("|"):
                setext.append(index)
            continue
        if level or index > begun:
            blocks.append(Block(level, text, begun, index))
        level, text, begun = heading.level, heading.text, index
    if level or len(lines) > begun:
        blocks.append(Block(level, text, begun, len(lines)))
    too_deep = None if found.too_deep is None else start + found.too_deep - 1
    return Sections(tuple(blocks), tuple(setext), found.open_at_end, too_deep)
