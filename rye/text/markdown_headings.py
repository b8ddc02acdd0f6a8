"""The outline of a Markdown text: ATX headings, thematic breaks and lists at the top level, and the lines that are opaque.

Blocks are found as CommonMark 0.31 has them, by the algorithm of its appendix: one pass over the lines with a stack of open
containers, so the time is linear. Two differences are DECISIONS': of HTML blocks only comments count (a comment starts at
most three spaces in and, unclosed, runs to the end), and link definitions are ordinary text. Headings inside fences, indented
code, comments, quotes and lists are none; setext headings are recognized and left out.
"""

from __future__ import annotations

import re
from collections import deque

from msgspec import Struct, field

from rye.limits import CONTENT

_HEADING = re.compile(r"(#{1,6})(?:[ ]+(.*?))??(?:[ ]+#+)?[ ]*$")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_BREAK = re.compile(r"(?:(?:\*[ ]*){3,}|(?:_[ ]*){3,}|(?:-[ ]*){3,})$")
_SETEXT = re.compile(r"(?:=+|-+)[ ]*$")
_MARKER = re.compile(r"(?:[*+-]|([0-9]{1,9})[.)])(?=[ ]|$)")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)")


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
        return self.code | self.comments

    def text(self, start: int, end: int) -> str:
        return "\n".join(self.lines[start:end])


def outline(text: str) -> Outline:
    """Scan a text (LF line endings). Never fails: every text is Markdown."""
    lines = tuple(text.split("\n"))
    scanner = _Scanner()
    too_deep = None
    for number, line in enumerate(lines):
        # Tab stops are every four columns of the line, so with tabs expanded a position is a column.
        scanner.line(number, line.expandtabs(4) if "\t" in line else line)
        if len(scanner.containers) > CONTENT.markdown_depth:
            too_deep = number
            break
    scanner.finish()
    return Outline(
        lines,
        tuple(scanner.headings),
        tuple(scanner.breaks),
        tuple(ListItem("\n".join(parts), line) for line, parts in scanner.items),
        tuple((first, last + 1) for first, last in scanner.quotes),
        frozenset(scanner.code),
        frozenset(scanner.comments),
        too_deep,
    )


class _Container(Struct):
    """A quote (``indent`` 0), or a list item whose further lines are indented by ``indent``."""

    indent: int
    empty: bool = False
    """A list item that began with its marker alone and has nothing yet."""


class _Scanner(Struct):
    containers: list[_Container] = field(default_factory=list)
    leaf: str = ""
    """The open leaf block: paragraph, fence, code, comment, or none."""
    marker: str = ""
    """The open fence's marker."""
    headings: list[Heading] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)
    items: list[tuple[int, list[str]]] = field(default_factory=list)
    quotes: list[tuple[int, int]] = field(default_factory=list)
    quote: tuple[int, int] | None = None
    """The open quote at the top level: first and last line so far."""
    code: set[int] = field(default_factory=set)
    comments: set[int] = field(default_factory=set)
    item_text: list[str] | None = None
    """Takes the lines of the paragraph that a top-level item starts with, while it lasts."""

    def line(self, number: int, text: str) -> None:
        matched, at = self.match_containers(text)
        everything = matched == len(self.containers)
        rest = text[at:]
        if everything and self.leaf in ("fence", "comment"):
            self.continue_leaf(number, rest)
            self.note_quote(number)
            return
        if not everything and self.leaf in ("fence", "comment", "code"):
            self.leaf = ""
        opened = False
        while len(self.containers) <= CONTENT.markdown_depth:
            stripped = rest.lstrip(" ")
            indent = len(rest) - len(stripped)
            in_paragraph = self.leaf == "paragraph" and everything and not opened
            if not stripped or indent >= 4:
                break
            if stripped[0] == ">":
                self.close_to(matched)
                self.push(number, _Container(0))
                rest = stripped[1:].removeprefix(" ")
            elif (width := self.list_item(stripped, in_paragraph)) is not None:
                self.close_to(matched)
                after = stripped[width:]
                spaces = len(after) - len(after.lstrip(" "))
                blank = spaces == len(after)
                padding = 1 if blank or spaces >= 5 else spaces
                self.push(number, _Container(indent + width + padding, empty=blank), item=True)
                rest = after[padding:]
            else:
                break
            matched, everything, opened = len(self.containers), True, True
        self.open_leaf(number, rest, matched, everything, opened)
        self.note_quote(number)

    def match_containers(self, text: str) -> tuple[int, int]:
        """How many open containers the line continues, and the position after their prefixes."""
        at = 0
        for index, container in enumerate(self.containers):
            rest = text[at:] if at else text
            stripped = rest.lstrip(" ")
            spaces = len(rest) - len(stripped)
            if container.indent == 0:
                if spaces >= 4 or not stripped.startswith(">"):
                    return index, at
                at += spaces + 1
                if text.startswith(" ", at):
                    at += 1
            elif not stripped:
                if container.empty:
                    return index, at
                at = len(text)
            elif spaces >= container.indent:
                at += container.indent
            else:
                return index, at
        return len(self.containers), at

    def list_item(self, stripped: str, in_paragraph: bool) -> int | None:
        """The width of the list marker that starts here, or None where none does or may."""
        match = _MARKER.match(stripped)
        if match is None or _BREAK.match(stripped):
            return None
        if in_paragraph and (not stripped[match.end() :].strip(" ") or (match[1] and int(match[1]) != 1)):
            return None
        if in_paragraph and _SETEXT.match(stripped):
            return None
        return match.end()

    def push(self, number: int, container: _Container, *, item: bool = False) -> None:
        self.leaf, self.item_text = "", None
        if not self.containers:
            if item:
                self.item_text = []
                self.items.append((number, self.item_text))
            else:
                self.quote = (number, number)
        elif self.containers[-1].empty:
            self.containers[-1].empty = False
        self.containers.append(container)

    def close_to(self, count: int) -> None:
        """Close the containers that the line does not continue, and the leaf in them."""
        if count < len(self.containers):
            del self.containers[count:]
            self.leaf, self.item_text = "", None
        if count == 0 and self.quote is not None:
            self.quotes.append(self.quote)
            self.quote = None

    def note_quote(self, number: int) -> None:
        if self.quote is not None:
            self.quote = (self.quote[0], number)

    def continue_leaf(self, number: int, rest: str) -> None:
        if self.leaf == "comment":
            self.comments.add(number)
            if "-->" in rest:
                self.leaf = ""
            return
        self.code.add(number)
        stripped = rest.strip(" ")
        length = len(self.marker)
        if (
            len(rest) - len(rest.lstrip(" ")) < 4
            and len(stripped) >= length
            and stripped == self.marker[0] * len(stripped)
        ):
            self.leaf = ""

    def open_leaf(self, number: int, rest: str, matched: int, everything: bool, opened: bool) -> None:
        stripped = rest.strip(" ")
        if not stripped:
            self.close_to(matched)
            if self.leaf == "paragraph":
                self.leaf, self.item_text = "", None
            elif self.leaf == "code":
                self.code.add(number)
            return
        indent = len(rest) - len(rest.lstrip(" "))
        paragraph = self.leaf == "paragraph" and not opened
        if indent >= 4 and not paragraph:
            self.close_to(matched)
            self.filled()
            self.leaf, self.item_text = "code", None
            self.code.add(number)
            return
        kind = self.block_start(rest.lstrip(" ")) if indent < 4 else None
        if paragraph and everything and indent < 4 and _SETEXT.match(stripped):
            self.leaf, self.item_text = "", None
            return
        if kind is None:
            if not paragraph:
                self.close_to(matched)
                self.filled()
                self.leaf = "paragraph"
            if self.item_text is not None:
                self.item_text.append(stripped)
            return
        self.close_to(matched)
        self.filled()
        self.leaf, self.item_text = "", None
        if kind == "heading" and not self.containers:
            heading = _HEADING.match(stripped)
            if heading:
                self.headings.append(Heading(len(heading[1]), (heading[2] or "").strip(" "), number))
        elif kind == "break" and not self.containers:
            self.breaks.append(number)
        elif kind == "comment":
            self.comments.add(number)
            self.leaf = "" if "-->" in rest else "comment"
        elif kind == "fence":
            self.code.add(number)
            fence = _FENCE.match(stripped)
            self.leaf, self.marker = "fence", (fence[1] or fence[2]) if fence else ""

    def block_start(self, stripped: str) -> str | None:
        """The block, other than a paragraph or container, that starts with this text."""
        first = stripped[0]
        if first == "#":
            return "heading" if _HEADING.match(stripped) else None
        if first in "`~":
            return "fence" if _FENCE.match(stripped) else None
        if first == "<":
            return "comment" if stripped.startswith("<!--") else None
        return "break" if first in "*_-" and _BREAK.match(stripped) else None

    def filled(self) -> None:
        if self.containers:
            self.containers[-1].empty = False

    def finish(self) -> None:
        self.close_to(0)


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
