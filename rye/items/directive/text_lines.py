"""The line in the file for each line of a text.

If a text is a verbatim slice of a file, its lines are consecutive. The text of an XML element is not: comments are dropped from
it, and a character reference can add a line end that the file does not have.

A code span ends, as CommonMark defines it, at the next run of as many backticks in the same paragraph. What ends a
paragraph depends on the text: a blank line, and in a process also a section's tag. The time is linear in the length.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache

from rye.items.directive.xml_document import BLANKS
from rye.items.directive.xml_tree import Element
from rye.text.lazy import lazy_pattern


def consecutive(text: str, first: int) -> range:
    """The line numbers of a text that begins on line ``first``."""
    return range(first, first + text.count("\n") + 1)


@cache
def _turns() -> re.Pattern[str]:
    """What makes the lines of an element's text differ from the file's, or ends a line; and CDATA sections, in which the same
    characters are only text. In well-formed XML each alternative that begins also ends, so the time is linear."""
    return re.compile(r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|&#(?:0*10|x0*[aA]);|\n", re.DOTALL)


def element_lines(element: Element) -> tuple[int, ...]:
    """The line in the file of each line of ``element.trimmed``. The element must have no child elements."""
    source, text = element.source, element.text
    if source == text:
        return tuple(consecutive(element.trimmed, element.text_line))
    lead = len(source) - len(source.lstrip(BLANKS))
    at = element.text_line - source.count("\n", 0, lead)
    lines = [at]
    for found in _turns().finditer(source):
        written = found.group()
        if written.startswith("<!["):
            lines.extend(range(at + 1, at + 1 + written.count("\n")))
        at += written.count("\n")
        if written.startswith("<!["):
            continue
        if not written.startswith("<!--"):
            lines.append(at)
        elif found.start() == 0 or source[found.start() - 1] == "\n":
            lines[-1] = at  # the line of the text begins after the comment
    first = text.count("\n", 0, len(text) - len(text.lstrip(BLANKS)))
    return tuple(lines[first : first + element.trimmed.count("\n") + 1])


_SPAN_OR_RUN = lazy_pattern(r"`(?:[^`\n]++`(?!`)|(`*+))")
"""A code span in single backticks on one line, as nearly all are; otherwise a run of backticks, the first of which is not in
the group."""
_TICKS = lazy_pattern(r"`++")


class CodeSpans:
    """The code spans of one text, which the caller asks about from left to right."""

    def __init__(self, text: str, paragraph_end: re.Pattern[str]) -> None:
        """``paragraph_end``: what ends a paragraph. A match begins with the line end of the paragraph's last line."""
        self.text = text
        self.pattern = paragraph_end
        self.paragraph_end = -1
        self.runs: dict[int, list[int]] = {}
        """Offsets of the backtick runs of each length in the paragraph; filled only if a short look ahead finds no match."""

    def end(self, start: int) -> int:
        """The offset after the code span that the run of backticks at ``start`` opens, or after the run if it opens none."""
        text = self.text
        found = _SPAN_OR_RUN.match(text, start)
        assert found is not None
        after = found.end()
        if found[1] is None:
            return after
        if start >= self.paragraph_end:
            ended = self.pattern.search(text, start)
            self.paragraph_end = ended.start() + 1 if ended else len(text) + 1
            self.runs = {}
        if not self.runs:
            at = text.find(text[start:after], after, self.paragraph_end)
            if at < 0:
                return after
            if after - start == 1 and text[at + 1 : at + 2] != "`":
                return at + 1
            for run in _TICKS.finditer(text, after, min(self.paragraph_end, len(text))):
                self.runs.setdefault(len(run[0]), []).append(run.start())
        same = self.runs.get(after - start, [])
        index = bisect_left(same, after)
        return same[index] + after - start if index < len(same) else after
