"""CommonMark's grammar for single lines, as regular expressions. The rarely needed ones are compiled on first use.

Possessive repetitions contain no capturing groups: CPython 3.11's ``re`` gets those wrong.
"""

from __future__ import annotations

import html
import re
from functools import cache

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
