"""Where the headings of a Markdown text are, read line by line in one pass (DECISIONS Overrides 8, 10, 17).

* Headings are ATX, levels 1–6, at most three spaces in front; trailing blanks and closing hashes are stripped, the inner
  text is exact.
* Frontmatter, HTML comments and code fences hold none. Frontmatter is line 1 ``---`` to the next ``---`` (trailing blanks
  allowed).
* Fences are CommonMark's: the closer has the same character, at least the length and no info string; an open one runs to the
  end of what holds it, which is the document or a list item.
* A comment starts at most three spaces in, ends with the line that holds ``-->``, and runs to the end when nothing does.
* Setext headings are neither targets nor boundaries; they are only reported.

Nothing here backtracks or recurses: the work is linear in the text, whatever it holds.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

from msgspec import Struct


class LineKind(IntEnum):
    """What one line is, as far as headings are concerned."""

    TEXT = 0
    HEADING = 1
    FENCE = 2
    """A fence's opening, content or closing line."""
    COMMENT = 3
    SETEXT = 4
    """The underline of a setext heading."""


class Block(Struct, frozen=True):
    """A heading with the lines up to the next heading of any level: ``lines[start:end]``. Level 0: the text before the first."""

    level: int
    text: str
    start: int
    end: int


class Scan(Struct, frozen=True):
    """What one pass found. ``setext``: indexes of the underlines. ``open_at_end``: what the last line leaves open."""

    blocks: tuple[Block, ...]
    setext: tuple[int, ...]
    open_at_end: Literal["code fence", "HTML comment"] | None


def heading_of(line: str) -> tuple[int, str] | None:
    """``(level, text)`` when the line is an ATX heading, wherever it stands."""
    body = line.lstrip(" ")
    if not body.startswith("#") or len(line) - len(body) > 3:
        return None
    rest = body.lstrip("#")
    level = len(body) - len(rest)
    if level > 6 or (rest and rest[0] not in " \t"):
        return None
    text = rest.strip(" \t")
    opened = text.rstrip("#")
    if len(opened) != len(text) and (not opened or opened[-1] in " \t"):
        text = opened.rstrip(" \t")
    return level, text


def frontmatter_end(lines: list[str]) -> int | None:
    """The index after the closing ``---``; None where the text has no frontmatter."""
    if not lines or not is_rule_line(lines[0]):
        return None
    for index in range(1, len(lines)):
        if is_rule_line(lines[index]):
            return index + 1
    return None


def is_rule_line(line: str) -> bool:
    """``---`` with nothing but trailing blanks: what opens and closes frontmatter."""
    return line.startswith("---") and line.rstrip(" \t") == "---"


def scan(lines: list[str], start: int = 0) -> Scan:
    """The blocks of ``lines[start:]``. There is a first block of level 0 only when text stands before the first heading."""
    reader = LineReader()
    blocks: list[Block] = []
    setext: list[int] = []
    level, text, begun = 0, "", start
    for index in range(start, len(lines)):
        kind = reader.feed(lines[index])
        if kind is LineKind.HEADING:
            if level or index > begun:
                blocks.append(Block(level, text, begun, index))
            level, text, begun = reader.level, reader.text, index
        elif kind is LineKind.SETEXT:
            setext.append(index)
    if level or len(lines) > begun:
        blocks.append(Block(level, text, begun, len(lines)))
    return Scan(tuple(blocks), tuple(setext), reader.open)


class LineReader:
    """Says of each line, fed in order, what it is. After a HEADING, ``level`` and ``text`` describe it."""

    __slots__ = ("_comment", "_fence", "_flow", "_lists", "level", "text")

    def __init__(self) -> None:
        self.level = 0
        self.text = ""
        self._comment = False
        self._fence: tuple[str, int, int] | None = None
        """Character, length, and the column where the content of the list item that holds it starts (0: no item)."""
        self._lists: list[int] = []
        """Columns where the contents of the open list items start, outermost first."""
        self._flow = ""
        """What a setext underline would meet: ``paragraph``, ``other`` (a list, quote or HTML line's paragraph), or nothing."""

    @property
    def open(self) -> Literal["code fence", "HTML comment"] | None:
        """What the lines so far leave open. A fence inside a list item ends with the item, so it leaves nothing open."""
        if self._comment:
            return "HTML comment"
        return "code fence" if self._fence and self._fence[2] == 0 else None

    def feed(self, line: str) -> LineKind:
        if self._comment:
            self._comment = "-->" not in line
            return LineKind.COMMENT
        body = line.lstrip(" \t")
        if not body:
            self._flow = ""
            return LineKind.FENCE if self._fence else LineKind.TEXT
        indent = _columns(line, len(line) - len(body))
        if self._fence:
            character, length, column = self._fence
            if indent >= column:
                if indent - column <= 3 and body[0] == character:
                    run = body.rstrip(" \t")
                    if len(run) >= length and run.strip(character) == "":
                        self._fence = None
                return LineKind.FENCE
            self._fence = None  # the list item ends here, and the fence with it
        first = body[0]
        if first not in _MARKS and self._flow:
            return LineKind.TEXT  # goes on with the paragraph before it, even from outside its list item
        while self._lists and indent < self._lists[-1]:
            self._lists.pop()
        if first not in _MARKS:
            return self._text(indent)
        return self._marked(line, body, first, indent)

    def _marked(self, line: str, body: str, first: str, indent: int) -> LineKind:
        if first == "#" and (heading := heading_of(line)):
            self.level, self.text = heading
            self._flow = ""
            return LineKind.HEADING
        if first == "<" and indent <= 3 and body.startswith("<!--"):
            self._comment = "-->" not in body
            self._flow = ""
            return LineKind.COMMENT
        if self._opens_fence(body, indent):
            return LineKind.FENCE
        if first in "=-" and indent <= 3 and self._flow == "paragraph" and body.rstrip(" \t").strip(first) == "":
            self._flow = ""
            return LineKind.SETEXT
        if first in "*-_" and _is_thematic_break(body):
            self._flow = ""
            return LineKind.TEXT
        if first in ">|<":
            self._flow = "other"
            return LineKind.TEXT
        return self._list_items(body, indent)

    def _text(self, indent: int) -> LineKind:
        if not self._flow and indent - (self._lists[-1] if self._lists else 0) <= 3:
            self._flow = "paragraph"
        return LineKind.TEXT

    def _opens_fence(self, body: str, indent: int) -> bool:
        column = self._lists[-1] if self._lists else 0
        character = body[0]
        if character not in "`~" or indent - column > 3:
            return False
        rest = body.lstrip(character)
        length = len(body) - len(rest)
        if length < 3 or (character == "`" and "`" in rest):
            return False
        self._fence = (character, length, column)
        self._flow = ""
        return True

    def _list_items(self, body: str, indent: int) -> LineKind:
        """A line may open several list items at once, and a fence in the last of them."""
        opened = False
        for _ in range(_ITEMS_PER_LINE):
            width = _marker_width(body)
            if not width or indent - (self._lists[-1] if self._lists else 0) > 3:
                break
            rest = body[width:]
            content = rest.lstrip(" \t")
            padding = _columns(rest, len(rest) - len(content))
            opened = True
            if not content or padding > 4:
                self._lists.append(indent + width + 1)
                break
            indent += width + padding
            body = content
            self._lists.append(indent)
            if _is_thematic_break(body):
                break
            if self._opens_fence(body, indent):
                return LineKind.FENCE
        if not opened:
            return self._text(indent)
        self._flow = "other"
        return LineKind.TEXT


_ITEMS_PER_LINE = 32
"""List items that one line may open; each costs a copy of the rest of the line, so a line of dashes must not open thousands."""

_MARKS = frozenset("#<`~=-*_>|+0123456789")


def _columns(line: str, count: int) -> int:
    """The columns that the first ``count`` characters (blanks) take, with tab stops of four."""
    blanks = line[:count]
    return len(blanks.expandtabs(4)) if "\t" in blanks else count


def _is_thematic_break(body: str) -> bool:
    character = body[0]
    if character not in "*-_":
        return False
    marks = body.replace(" ", "").replace("\t", "")
    return len(marks) >= 3 and marks.strip(character) == ""


def _marker_width(body: str) -> int:
    """The length of the list marker that ``body`` starts with; 0 where there is none."""
    if body[0] in "-+*":
        width = 1
    else:
        digits = 0
        while digits < len(body) and digits < 10 and body[digits] in "0123456789":
            digits += 1
        if not 1 <= digits <= 9 or body[digits : digits + 1] not in (".", ")"):
            return 0
        width = digits + 1
    return width if len(body) == width or body[width] in " \t" else 0
