"""The outline of a Markdown text: ATX headings, thematic breaks and lists at the top level, and the lines that are opaque.

Blocks are found as CommonMark has them, with two differences that DECISIONS makes: of HTML blocks only comments count (a comment
starts at most three spaces in and, unclosed, runs to the end), and link definitions are ordinary text. Headings inside fences,
indented code, comments, quotes and lists are none; setext headings are told apart, so that callers can leave them alone.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_NESTING = 16
"""Quotes, lists and list items inside one another that are followed (lazy continuation costs lines times nesting)."""


@dataclass(frozen=True, slots=True)
class Heading:
    """An ATX heading at the top level. ``line`` counts from 0 in the text."""

    level: int
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class ListItem:
    """One item of a list at the top level; ``text`` is its first paragraph, ``line`` counts from 0."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Outline:
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
    """Where containers nest deeper than we follow: what comes after may be misread, so readers refuse the text."""

    @property
    def opaque(self) -> frozenset[int]:
        return self.code | self.comments

    def text(self, start: int, end: int) -> str:
        return "\n".join(self.lines[start:end])


def outline(text: str) -> Outline:
    """Scan a text (LF line endings). Never fails: every text is Markdown."""
    headings: list[Heading] = []
    breaks: list[int] = []
    items: list[ListItem] = []
    quotes: list[tuple[int, int]] = []
    code: set[int] = set()
    comments: set[int] = set()
    too_deep: int | None = None
    tokens = _parser().parse(text)
    for index, token in enumerate(tokens):
        start, end = token.map or (0, 0)
        if token.type == "heading_open" and token.level == 0 and token.markup.startswith("#"):
            headings.append(Heading(len(token.markup), tokens[index + 1].content, start))
        elif token.type == "hr" and token.level == 0:
            breaks.append(start)
        elif token.type == "list_item_open" and token.level == 1:
            paragraph = tokens[index + 2] if index + 2 < len(tokens) else None
            is_text = paragraph is not None and paragraph.type == "inline"
            items.append(ListItem(paragraph.content if is_text and paragraph else "", start))
        elif token.type == "blockquote_open" and token.level == 0:
            quotes.append((start, end))
        elif token.type in ("fence", "code_block"):
            code.update(range(start, end))
        elif token.type == "html_comment":
            comments.update(range(start, end))
        if token.type in _CONTAINERS and token.level + 1 >= _NESTING and too_deep is None:
            too_deep = start
    return Outline(
        tuple(text.split("\n")),
        tuple(headings),
        tuple(breaks),
        tuple(items),
        tuple(quotes),
        frozenset(code),
        frozenset(comments),
        too_deep,
    )


_CONTAINERS = frozenset(["blockquote_open", "bullet_list_open", "ordered_list_open", "list_item_open"])
_BLOCKS = ["code", "fence", "blockquote", "hr", "list", "heading", "lheading"]


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("zero", {"maxNesting": _NESTING})
    parser.enable(_BLOCKS)
    parser.core.ruler.disable(["inline", "text_join"], True)
    parser.block.ruler.before("heading", "html_comment", _comment, {"alt": ["paragraph", "reference", "blockquote"]})
    return parser


def _comment(state: Any, start: int, end: int, silent: bool) -> bool:
    """A block rule: an HTML comment (CommonMark §4.6, condition 2)."""
    at = state.bMarks[start] + state.tShift[start]
    if state.is_code_block(start) or not state.src.startswith("<!--", at):
        return False
    if silent:
        return True
    line = start
    while line < end and (line == start or state.sCount[line] >= state.blkIndent or state.isEmpty(line)):
        closed = "-->" in state.src[state.bMarks[line] : state.eMarks[line]]
        line += 1
        if closed:
            break
    state.line = line
    token = state.push("html_comment", "", 0)
    token.map = [start, line]
    return True


_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)")


def without_code_spans(line: str) -> str:
    """The line with its code spans blanked out, character for character (spans that cross lines are not seen)."""
    if "`" not in line:
        return line
    runs = [(match.start(), match.end()) for match in _CODE_SPAN.finditer(line)]
    by_length: dict[int, deque[int]] = {}
    for number, (start, stop) in enumerate(runs):
        by_length.setdefault(stop - start, deque()).append(number)
    out: list[str] = []
    position, number = 0, 0
    while number < len(runs):
        start, stop = runs[number]
        same = by_length[stop - start]
        while same and same[0] <= number:
            same.popleft()
        if not same:
            number += 1
            continue
        close = runs[same[0]]
        out += [line[position:start], " " * (close[1] - start)]
        position, number = close[1], same[0] + 1
    return "".join(out) + line[position:]
