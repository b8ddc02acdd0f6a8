"""CommonMark's grammar for single lines, as regular expressions. The rarely needed ones are compiled on first use.

Possessive repetitions contain no capturing groups: CPython 3.11's ``re`` gets those wrong.

A :class:`Cursor` is a position in one line, in characters and in columns; tab stops are every four columns (CommonMark 2.2).
The blocks that the scanner has open are a stack of containers, and one leaf in the innermost.
"""

from __future__ import annotations

import html
import re
from functools import cache

from msgspec import Struct, field

from rye.text.lazy import lazy_pattern

_STARTS = "#`~*+_=<>0-9-"
SPECIAL = frozenset("#`~*+_=<>-0123456789")
"""What a block other than a paragraph can start with: the characters of the pattern above, as a set."""
BULLETS = frozenset("*+-0123456789")
"""What a list item can start with."""

PLAIN = lazy_pattern(rf"(?>(?: {{0,3}}+[^{_STARTS}\[ \t\n][^\n]*+\n|[ \t]*+\n)*)")
"""Lines that start only paragraphs, and blank lines."""
LAZY = lazy_pattern(rf"(?:[^{_STARTS} \t\n][^\n]*+\n)++")
"""Lines at the margin that continue any open paragraph."""
ATX = lazy_pattern(r" {0,3}(#{1,6})(?![^ \t\n])")
ITEM = lazy_pattern(rf"([*+-]|([0-9]{{1,9}})[.)]) {{1,4}}(?=[^{_STARTS}\[ \t\n])")
"""A list item at the margin whose first block is a paragraph: the bulk of most lists."""
CODE_LINES = lazy_pattern(r"(?>(?:(?:[ \t]*+\n)*+(?: {4}| {0,3}\t)[ \t]*+[^ \t\n][^\n]*+\n)*)")
"""Indented code up to its last line, without the blank lines after it."""
BLANK_LINE = lazy_pattern(r"\n[ \t]*+\n")
"""A blank line with the end of the line before it."""
FENCE_OPEN = lazy_pattern(r"`{3,}(?=[^`]*$)|~{3,}")
FENCE_CLOSE = lazy_pattern(r" {0,3}(`{3,}|~{3,})[ \t]*\n")
BREAK = lazy_pattern(r"(?:(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|(?:-[ \t]*){3,})$")
SETEXT = lazy_pattern(r"(?:=+|-+)[ \t]*$")
MARKER = lazy_pattern(r"(?:[*+-]|([0-9]{1,9})[.)])(?=[ \t]|$)")


@cache
def html_open() -> re.Pattern[str]:
    """The start of an HTML block; the group that matches is its kind. Compiled when a line first starts with ``<``."""
    names = (
        "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt"
        "|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu"
        "|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr"
        "|track|ul"
    )
    value = r"(?:[^\"'=<>`\x00-\x20]++|'[^']*+'|\"[^\"]*+\")"
    attribute = rf"\s+[A-Za-z_:][A-Za-z0-9:._-]*+(?:\s*=\s*{value})?"
    return re.compile(
        rf"(<(?i:script|pre|textarea|style)(?:\s|>|$))|(<!--)|(<\?)|(<![A-Za-z])|(<!\[CDATA\[)"
        rf"|(</?(?i:{names})(?:\s|/?>|$))"
        rf"|((?:<[A-Za-z][A-Za-z0-9-]*+(?>(?:{attribute})*)\s*/?>|</[A-Za-z][A-Za-z0-9-]*+\s*>)[ \t]*$)"
    )


HTML_CLOSE = ("", "-->", "?>", ">", "]]>")
"""What ends an HTML block of kinds 2 to 5, by index. Kind 1 has a pattern; 6 and 7 end at a blank line."""


@cache
def first_html_close() -> re.Pattern[str]:
    """What ends an HTML block of kind 1."""
    return re.compile(r"</(?:script|pre|textarea|style)>", re.IGNORECASE)


@cache
def definition() -> re.Pattern[str]:
    """A link reference definition at the start of a paragraph, with the end of its last line."""
    title = r"\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\"|'[^'\\]*+(?:\\.[^'\\]*+)*+'|\([^()\\]*+(?:\\.[^()\\]*+)*+\)"
    return re.compile(
        r"[ \t]*\[(?=[^\]]*[^\s\]])(?>(?:[^\\\[\]]|\\.){1,999})\]:"
        r"[ \t]*\n?[ \t]*(?:<[^<>\\\n]*+(?:\\.[^<>\\\n]*+)*+>|(?!<)[^\s]++)"
        rf"(?>(?:(?:[ \t]*\n[ \t]*|[ \t]+)(?:{title}))?)[ \t]*(?:\n|\Z)",
        re.DOTALL,
    )


@cache
def _escape() -> re.Pattern[str]:
    return re.compile(r"\\([!-/:-@\[-`{-~])|(&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});)")


def heading_of(line: str) -> tuple[int, str] | None:
    """``(level, text)`` if the line is an ATX heading by itself, or None."""
    found = ATX.match(line)
    return (len(found[1]), heading_text(line[found.end() :])) if found else None


def heading_text(rest: str) -> str:
    """A heading's text, given what follows the opening hashes; the closing hashes are dropped."""
    text = rest.strip(" \t")
    if text.endswith("#"):
        opened = text.rstrip("#")
        if not opened or opened[-1] in " \t":
            return opened.rstrip(" \t")
    return text


def unescaped(info: str) -> str:
    """An info string with its character references and backslash escapes resolved."""
    if "\\" not in info and "&" not in info:
        return info
    return _escape().sub(lambda found: found.group(1) or html.unescape(found.group(2)), info)


class Cursor:
    """The current line and how far it has been read: ``offset`` in characters, ``column`` with tabs expanded."""

    def __init__(self) -> None:
        self.line = ""
        self.offset = 0
        self.column = 0
        self.rest_of_tab = 0
        self.next = 0
        self.indent = 0
        self.blank = False

    def find(self) -> None:
        """Set ``next`` to the next character that is not whitespace, and ``indent`` to the columns before it."""
        line, offset = self.line, self.offset
        rest = line[offset:].lstrip(" \t") if offset else line.lstrip(" \t")
        self.next = position = len(line) - len(rest)
        self.blank = not rest
        if "\t" not in line:
            self.indent = position - offset
            return
        column = self.column
        for character in line[offset:position]:
            column += 1 if character == " " else 4 - column % 4
        self.indent = column - self.column

    def to_next(self) -> None:
        """Advance to ``next``."""
        self.column += self.indent
        self.offset = self.next
        self.rest_of_tab = 0

    def characters(self, count: int) -> None:
        """Advance by ``count`` characters, none of which is a tab."""
        self.offset += count
        self.column += count
        self.rest_of_tab = 0

    def columns(self, count: int) -> None:
        """Advance by up to ``count`` columns of whitespace, possibly into the middle of a tab."""
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

    def remaining(self) -> str:
        """Return the rest of the line; what remains of a tab becomes spaces."""
        if self.rest_of_tab:
            return " " * self.rest_of_tab + self.line[self.offset + 1 :]
        return self.line[self.offset :]


class Open(Struct):
    """An open container: a quote (``indent`` 0), or a list item that lines indented by ``indent`` continue."""

    indent: int
    line: int
    empty: bool = True
    """Whether it has only its marker so far."""
    text: str = ""


class Leaf(Struct, kw_only=True):
    """The open leaf block."""

    kind: str
    """``paragraph``, ``fence``, ``code``, ``html`` or ``""``."""
    line: int = 0
    last: int = 0
    marker: str = ""
    length: int = 0
    indent: int = 0
    column: int = 0
    info: str = ""
    html: int = 0
    item: Open | None = None
    """The outermost list item whose first block is this paragraph."""
    start: int = 0
    """The offset of the fence's line, or of that paragraph."""
    lines: list[str] | None = None
    """The content of a fence, or the lines so far of a paragraph that may be a link reference definition."""
    offsets: list[int] = field(default_factory=list)


NO_LEAF = Leaf(kind="")
PLAIN_TEXT = Leaf(kind="paragraph")
"""A paragraph whose content does not matter. Both constants are shared; never modify them."""
