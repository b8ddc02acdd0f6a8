"""Which line of the file each line of a text stands on.

A text that was cut out of a file as it is has consecutive lines. The text of an XML element has not: comments are left out of it,
and a character reference brings in a line that the file has not.
"""

from __future__ import annotations

import re
from functools import cache

from rye.items.directive.xml_tree import BLANKS, Element


def consecutive(text: str, first: int) -> range:
    """The lines of a text that begins on line ``first``."""
    return range(first, first + text.count("\n") + 1)


@cache
def _turns() -> re.Pattern[str]:
    """What makes the lines of an element's text differ from the file's, or ends one."""
    return re.compile(r"<!--.*?-->|&#(?:0*10|x0*[aA]);|\n", re.DOTALL)


def element_lines(element: Element) -> tuple[int, ...]:
    """The line of each line of ``element.trimmed``; the element holds no other elements."""
    source = element.source
    lead = len(source) - len(source.lstrip(BLANKS))
    at = element.text_line - source.count("\n", 0, lead)
    lines = [at]
    for found in _turns().finditer(source):
        written = found.group()
        at += written.count("\n")
        if not written.startswith("<!--"):
            lines.append(at)
        elif found.start() == 0 or source[found.start() - 1] == "\n":
            lines[-1] = at  # the line of the text begins after the comment
    text = element.text
    first = text.count("\n", 0, len(text) - len(text.lstrip(BLANKS)))
    return tuple(lines[first : first + element.trimmed.count("\n") + 1])
