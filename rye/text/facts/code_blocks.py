"""Which lines of a page are code: in fenced blocks and listings, which say their language, or indented. Lines count from 0."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import takewhile

from rye.limits import FACTS

_FENCE = re.compile(r"[\s>]*(?:[-*+]\s+|\d{1,9}[.)]\s+)?(`{3,}|~{3,})\s*([^\s`{]*)")
#: How AsciiDoc begins and ends a block of code, and how the line before names its language.
_DELIMITER = re.compile(r"(-{4,}|\.{4,})[ \t]*$")
_SOURCE_STYLE = re.compile(r"\[(?:source|listing)?(?:%\w{1,20})?,[ \t]*(\w{1,20})")
_LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")

CodeBlock = tuple[str, int, int]
"""The language of a block (``""`` if it names none), its first line, and the line after its last one."""


def fenced_blocks(lines: Sequence[str], numbers: Iterable[int]) -> list[CodeBlock]:
    """The fenced blocks that have lines. ``numbers``: the lines, in order, that can be fences."""
    spans: list[CodeBlock] = []
    inside: str | None = None
    mark, begun = "", 0
    for number in numbers:
        match = _FENCE.match(lines[number])
        if match is None or (inside is not None and (not match[1].startswith(mark) or match[2])):
            continue
        if inside is None:
            inside, mark, begun = match[2].lower(), match[1], number + 1
        else:
            spans.append((inside, begun, number))
            inside = None
    if inside is not None:
        spans.append((inside, begun, len(lines)))
    return [block for block in spans if block[1] < block[2]]


def listings(lines: Sequence[str]) -> list[CodeBlock]:
    """The same for AsciiDoc."""
    spans: list[CodeBlock] = []
    mark, language, begun = "", "", 0
    for number, line in enumerate(lines):
        delimiter = _DELIMITER.match(line) if line.startswith(("----", "....")) else None
        if delimiter is None or (mark and delimiter[1] != mark):
            continue
        if mark:
            spans.append((language, begun, number))
            mark = ""
        else:
            style = _SOURCE_STYLE.match(lines[number - 1]) if number else None
            mark, language, begun = delimiter[1], style[1].lower() if style is not None else "", number + 1
    if mark:
        spans.append((language, begun, len(lines)))
    return [block for block in spans if block[1] < block[2]]


def indented_lines(
    text: str, lines: Sequence[str], starts: Sequence[int], languages: Sequence[str | None]
) -> frozenset[int]:
    """The lines of indented code blocks: indented by four spaces or a tab after an empty line, by eight within a list.

    ``starts`` are the offsets of the lines in the text, ``languages`` tell of each line in which fenced block it is.
    """
    code: set[int] = set()
    for begin in ("\n\n    ", "\n\n\t"):
        at = text.find(begin)
        while at >= 0:
            number = bisect_right(starts, at + 2) - 1
            if languages[number] is None and number not in code:
                indent = ("        ", "\t\t", "    \t") if _in_list(lines, number) else ("    ", "\t")
                while (
                    number < len(lines)
                    and languages[number] is None
                    and (not lines[number] or lines[number].startswith(indent))
                ):
                    code.add(number)
                    number += 1
            at = text.find(begin, at + 1)
    if text.startswith(("    ", "\t")):
        code.update(takewhile(lambda number: lines[number].startswith(("    ", "\t")), range(len(lines))))
    return frozenset(code)


def _in_list(lines: Sequence[str], number: int) -> bool:
    """Whether an indented line after an empty one belongs to an item of a list, as far as ``FACTS.continued_lines`` tell."""
    for before in range(number - 1, max(-1, number - FACTS.continued_lines), -1):
        line = lines[before]
        if _LIST_ITEM.match(line) is not None:
            return True
        if line and line[0] not in " \t" and (before == 0 or not lines[before - 1].strip()):
            return False  # a paragraph that begins at the margin
    return False
