"""The line in the file for each line of a text.

If a text is a verbatim slice of a file, its lines are consecutive. The text of an XML element is not: comments are dropped from
it, and a character reference can add a line end that the file does not have.
"""

from __future__ import annotations

import re
from functools import cache

from rye.items.directive.xml_document import BLANKS
from rye.items.directive.xml_tree import Element


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
