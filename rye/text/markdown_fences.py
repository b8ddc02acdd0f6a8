"""Fenced code blocks of a Markdown text, exactly as CommonMark 0.31 reads them (DECISIONS Directives 1).

Only the block structure that decides where a fence starts and ends is read: quotes, list items, HTML blocks, indented code,
paragraphs and headings. Inline markup is never looked at. The algorithm is the one of the specification's appendix
("A parsing strategy"): one pass over the lines with a stack of open containers, so the time is linear in the text's length;
the stack's depth is capped, and a text that goes deeper is reported, not half read.

A line ends at LF alone: a lone CR, NEL or U+2028 is an ordinary character, as for the signature's hash.
"""

from __future__ import annotations

import html
import re

from msgspec import Struct, field

from rye.limits import CONTENT

MAX_DEPTH = CONTENT.markdown_depth


class Fence(Struct, frozen=True):
    """One fenced code block. Lines count from 1 in the file."""

    info: str
    """The info string, trimmed, with character references and backslash escapes resolved."""
    line: int
    """Of the opening marker."""
    column: int
    """Of the opening marker, from 1."""
    end_line: int
    """The last line that belongs to the block: the closing marker's, or the last one of its content."""
    closed: bool
    depth: int
    """How many quotes and list items it stands in."""
    lines: tuple[str, ...]
    """The content, without container prefixes and without the fence's own indent; the first is line ``line + 1``."""
    offsets: tuple[int, ...]
    """For each content line, how many characters of the file's line stand before it."""

    @property
    def word(self) -> str:
        """The first word of the info string in lower case; empty where there is none."""
        words = self.info.split(None, 1)
        return words[0].lower() if words else ""

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def place(self, line: int, column: int) -> tuple[int, int]:
        """A place in the content (both from 1) as line and column of the file."""
        index = line - 1
        before = self.offsets[index] if 0 <= index < len(self.offsets) else 0
        return self.line + line, column + before


class Scan(Struct, frozen=True):
    """The fences of a text in order, and which lines are no prose."""

    fences: tuple[Fence, ...]
    code: tuple[tuple[int, int], ...]
    """First and last line of every code block, fenced and indented."""
    comments: tuple[tuple[int, int], ...]
    """First and last line of every HTML block that is a comment."""
    too_deep: int | None = None
    """The line where quotes and lists nest deeper than MAX_DEPTH; reading stopped there."""


class _Item(Struct):
    """An open container: a quote (``indent`` 0) or a list item that later lines continue when indented by ``indent``."""

    indent: int
    empty: bool = True


class _Open(Struct):
    """The open leaf block."""

    kind: str
    """``paragraph``, ``fence``, ``code``, ``html`` or ``""``."""
    start: int = 0
    marker: str = ""
    length: int = 0
    indent: int = 0
    column: int = 0
    info: str = ""
    depth: int = 0
    html: int = 0
    lines: list[str] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    last: int = 0


_NONE = _Open("")
_FENCE_OPEN = re.compile(r"`{3,}(?=[^`]*$)|~{3,}")
_BREAK = re.compile(r"(?:(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|(?:-[ \t]*){3,})$")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|$)")
_SETEXT = re.compile(r"(?:=+|-+)[ \t]*$")
_MARKER = re.compile(r"(?:[*+-]|(\d{1,9})[.)])(?=[ \t]|$)")
_SPECIAL = frozenset("#`~*+_=<>-0123456789")

_TAG = re.compile(
    r"(?:<[A-Za-z][A-Za-z0-9-]*+"
    r"(?:\s+[a-zA-Z_:][a-zA-Z0-9:._-]*+(?:\s*=\s*(?:[^\"'=<>`\x00-\x20]++|'[^']*+'|\"[^\"]*+\"))?)*+\s*/?>"
    r"|</[A-Za-z][A-Za-z0-9-]*+\s*>)[ \t]*$"
)
_HTML_OPEN = (
    re.compile(r"<(?:script|pre|textarea|style)(?:\s|>|$)", re.I),
    re.compile(r"<!--"),
    re.compile(r"<\?"),
    re.compile(r"<![A-Za-z]"),
    re.compile(r"<!\[CDATA\["),
    re.compile(
        r"</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt"
        r"|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu"
        r"|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr"
        r"|track|ul)(?:\s|/?>|$)",
        re.I,
    ),
    _TAG,
)
_HTML_CLOSE = (
    re.compile(r"</(?:script|pre|textarea|style)>", re.I),
    re.compile(r"-->"),
    re.compile(r"\?>"),
    re.compile(r">"),
    re.compile(r"\]\]>"),
)
_COMMENT = 1
_REFERENCE = re.compile(
    r"[ \t]*\[(?=[^\]]*[^\s\]])(?:[^\\\[\]]|\\.)++\]:[ \t]*\n?[ \t]*(?:<(?:[^<>\\\n]|\\.)*+>|(?!<)[^\s]++)"
    r"(?:(?:[ \t]*\n[ \t]*|[ \t]+)(?:\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\)))?+[ \t]*(?:\n|\Z)",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])|(&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});)")


def scan(text: str) -> Scan:
    """Every fenced code block of ``text`` (LF line endings), in order. Time and memory are linear in its length."""
    return _Scanner().run(text.split("\n"))


class _Scanner:
    """The state of one pass: the open containers, the open leaf, and the place in the present line."""

    def __init__(self) -> None:
        self.containers: list[_Item] = []
        self.leaf = _NONE
        self.fences: list[Fence] = []
        self.code: list[tuple[int, int]] = []
        self.comments: list[tuple[int, int]] = []
        self.line = ""
        self.number = 0
        self.offset = 0
        self.column = 0
        self.rest_of_tab = 0
        self.next = 0
        self.indent = 0
        self.blank = False

    def run(self, lines: list[str]) -> Scan:
        too_deep: int | None = None
        for number, line in enumerate(lines, 1):
            leaf = self.leaf
            if leaf.kind == "fence" and not leaf.indent and not self.containers and leaf.marker not in line:
                leaf.lines.append(line)  # the common case, without a look at its blanks
                leaf.offsets.append(0)
                leaf.last = number
                continue
            self.line, self.number = line, number
            self.offset = self.column = self.rest_of_tab = 0
            self._read()
            if len(self.containers) > MAX_DEPTH:
                too_deep = number
                break
        self._close_leaf(closed=False)
        return Scan(tuple(self.fences), tuple(self.code), tuple(self.comments), too_deep)

    # The place in the line: ``offset`` in characters, ``column`` with tabs expanded to stops of four.

    def _find(self) -> None:
        """Set ``next`` to the next character that is no blank, ``indent`` to the columns before it."""
        line, position, column = self.line, self.offset, self.column
        length = len(line)
        while position < length:
            character = line[position]
            if character == " ":
                column += 1
            elif character == "\t":
                column += 4 - column % 4
            else:
                break
            position += 1
        self.next = position
        self.indent = column - self.column
        self.blank = position >= length

    def _to_next(self) -> None:
        self.column += self.indent
        self.offset = self.next
        self.rest_of_tab = 0

    def _characters(self, count: int) -> None:
        """Go on by ``count`` characters that are no tabs."""
        self.offset += count
        self.column += count
        self.rest_of_tab = 0

    def _columns(self, count: int) -> None:
        """Go on by up to ``count`` columns of blanks; a tab may be left half used."""
        line, length = self.line, len(self.line)
        while count > 0 and self.offset < length:
            character = line[self.offset]
            if character == " ":
                self.offset += 1
                self.column += 1
                count -= 1
            elif character == "\t":
                width = self.rest_of_tab or 4 - self.column % 4
                step = min(width, count)
                self.column += step
                count -= step
                self.rest_of_tab = width - step
                if not self.rest_of_tab:
                    self.offset += 1
            else:
                return

    def _remaining(self) -> str:
        if self.rest_of_tab:
            return " " * self.rest_of_tab + self.line[self.offset + 1 :]
        return self.line[self.offset :]

    # One line.

    def _read(self) -> None:
        matched = self._match_containers() if self.containers else 0
        all_matched = matched == len(self.containers)
        if all_matched:
            if self._continue_leaf():
                return
        else:
            self._find()
        self._open_blocks(matched, all_matched)

    def _match_containers(self) -> int:
        matched = 0
        for item in self.containers:
            self._find()
            if item.indent == 0:
                if self.indent > 3 or self.blank or self.line[self.next] != ">":
                    break
                self._take_quote_marker()
            elif self.blank:
                if item.empty:
                    break
                self._to_next()
            elif self.indent >= item.indent:
                self._columns(item.indent)
            else:
                break
            matched += 1
        return matched

    def _take_quote_marker(self) -> None:
        self._to_next()
        self._characters(1)
        if self.offset < len(self.line) and self.line[self.offset] in " \t":
            self._columns(1)

    def _continue_leaf(self) -> bool:
        """Give the line to the open leaf. False: the leaf is closed, or is a paragraph that a new block may interrupt."""
        leaf = self.leaf
        if leaf.kind == "fence":
            self._find()
            if self.indent <= 3 and not self.blank and self._closes(leaf):
                leaf.last = self.number
                self._close_leaf(closed=True)
                return True
            self._columns(leaf.indent)
            leaf.lines.append(self._remaining())
            leaf.offsets.append(self.offset)
            leaf.last = self.number
            return True
        self._find()
        if leaf.kind == "html":
            if leaf.html >= 5:
                if self.blank:
                    self._close_leaf()
                    return True
                leaf.last = self.number
                return True
            leaf.last = self.number
            if _HTML_CLOSE[leaf.html].search(self.line, self.offset):
                self._close_leaf()
            return True
        if leaf.kind == "code":
            if self.blank:
                return True
            if self.indent >= 4:
                leaf.last = self.number
                return True
            self._close_leaf()
        elif leaf.kind == "paragraph" and self.blank:
            self._close_leaf()
            return True
        return False

    def _closes(self, leaf: _Open) -> bool:
        rest = self.line[self.next :].rstrip(" \t")
        return len(rest) >= leaf.length and rest == leaf.marker * len(rest)

    def _open_blocks(self, matched: int, all_matched: bool) -> None:
        paragraph = self.leaf.kind == "paragraph"
        in_paragraph = paragraph and all_matched
        while not self.blank:
            if self.indent >= 4:
                if not paragraph:
                    self._drop(matched)
                    self._open(_Open("code", self.number, last=self.number))
                    return
                break
            character = self.line[self.next]
            if character not in _SPECIAL:
                break
            if character == ">":
                self._drop(matched)
                self._take_quote_marker()
                self._push(_Item(0))
            elif character == "<" and (kind := self._html_start(paragraph)) is not None:
                self._drop(matched)
                self._open(_Open("html", self.number, html=kind, last=self.number))
                if kind < 5 and _HTML_CLOSE[kind].search(self.line, self.next):
                    self._close_leaf()
                return
            elif character in "`~" and (found := _FENCE_OPEN.match(self.line, self.next)):
                self._drop(matched)
                marker = found.group()
                info = _unescape(self.line[found.end() :].strip(" \t"))
                self._open(
                    _Open(
                        "fence",
                        self.number,
                        marker[0],
                        len(marker),
                        self.indent,
                        self.next + 1,
                        info,
                        len(self.containers),
                    )
                )
                self.leaf.last = self.number
                return
            elif character == "#" and _HEADING.match(self.line, self.next):
                self._drop(matched)
                self._touch()
                return
            elif in_paragraph and character in "=-" and _SETEXT.match(self.line, self.next) and self._is_heading():
                self._close_leaf()
                return
            elif character in "*_-" and _BREAK.match(self.line, self.next):
                self._drop(matched)
                self._touch()
                return
            elif (indent := self._list_item(in_paragraph)) is not None:
                self._drop(matched)
                self._take_list_marker(*indent)
            else:
                break
            matched = len(self.containers)
            all_matched = True
            paragraph = in_paragraph = False
            if matched > MAX_DEPTH:
                return
            self._find()
        self._text(matched, all_matched)

    def _text(self, matched: int, all_matched: bool) -> None:
        if self.blank:
            self._drop(matched)
            return
        if self.leaf.kind == "paragraph":
            self.leaf.lines.append(self.line[self.next :])  # its own line, or a lazy continuation
            return
        self._drop(matched)
        self._open(_Open("paragraph", self.number, lines=[self.line[self.next :]]))

    def _html_start(self, paragraph: bool) -> int | None:
        for kind, pattern in enumerate(_HTML_OPEN):
            if pattern.match(self.line, self.next):
                return None if kind == 6 and paragraph else kind
        return None

    def _is_heading(self) -> bool:
        """Whether the open paragraph has text besides link reference definitions, which no underline can make a heading."""
        lines = self.leaf.lines
        if not lines[0].startswith("["):
            return True
        text, position = "\n".join(lines), 0
        while found := _REFERENCE.match(text, position):
            position = found.end()
        return position < len(text)

    def _list_item(self, in_paragraph: bool) -> tuple[int, int] | None:
        found = _MARKER.match(self.line, self.next)
        if found is None:
            return None
        number = found.group(1)
        if in_paragraph and (
            (number not in (None, "1") and int(number) != 1) or not self.line[found.end() :].strip(" \t")
        ):
            return None
        return self.indent, found.end() - self.next

    def _take_list_marker(self, indent: int, width: int) -> None:
        self._to_next()
        self._characters(width)
        self._find()
        if self.blank or self.indent >= 5:
            padding = width + 1
            self._columns(1)
        else:
            padding = width + self.indent
            self._to_next()
        self._push(_Item(indent + padding))

    # Opening and closing.

    def _touch(self) -> None:
        if self.containers:
            self.containers[-1].empty = False

    def _push(self, item: _Item) -> None:
        self._touch()
        self.containers.append(item)

    def _open(self, leaf: _Open) -> None:
        self._touch()
        self.leaf = leaf

    def _drop(self, matched: int) -> None:
        """Close the open leaf and every container beyond the first ``matched``."""
        self._close_leaf()
        del self.containers[matched:]

    def _close_leaf(self, closed: bool = False) -> None:
        leaf = self.leaf
        if leaf.kind == "fence":
            self.fences.append(
                Fence(
                    leaf.info,
                    leaf.start,
                    leaf.column,
                    leaf.last,
                    closed,
                    leaf.depth,
                    tuple(leaf.lines),
                    tuple(leaf.offsets),
                )
            )
            self.code.append((leaf.start, leaf.last))
        elif leaf.kind == "code":
            self.code.append((leaf.start, leaf.last))
        elif leaf.kind == "html" and leaf.html == _COMMENT:
            self.comments.append((leaf.start, leaf.last))
        self.leaf = _NONE


def _unescape(info: str) -> str:
    if "\\" not in info and "&" not in info:
        return info
    return _ESCAPE.sub(lambda found: found.group(1) or html.unescape(found.group(2)), info)
