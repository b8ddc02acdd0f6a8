"""Links to files in a Markdown text: inline links and images, link definitions, ``href`` and ``src`` of HTML, outside code.
A footnote (``[^1]: …``) is not a link (DECISIONS Skills 4).

A destination is *relative* when it has no scheme, does not start with ``/`` or ``//`` and is not a bare ``#anchor``.
"""

from __future__ import annotations

import re
from collections import deque
from urllib.parse import unquote

from msgspec import Struct

from rye.text.markdown_outline import Outline

_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_DEFINITION = re.compile(r" {0,3}\[(?!\^)[^\]\n]{1,200}\]:[ \t]*(?:<([^>\n]*)>|([^ \t<][^ \t]*))")
_ATTRIBUTE = re.compile(r"<(?:a|img)\s[^<>]{0,500}?(?:href|src)\s{0,5}=\s{0,5}([\"'])([^\"'<>]*)\1", re.IGNORECASE)


class Link(Struct, frozen=True):
    """A link's destination as written. ``line`` counts from 0 in the text, ``column`` from 1."""

    destination: str
    line: int
    column: int

    @property
    def relative(self) -> bool:
        """Whether it is a relative path, as the module's docstring defines it."""
        text = self.destination
        return bool(text) and not text.startswith(("#", "/", "\\")) and _SCHEME.match(text) is None

    @property
    def path(self) -> str:
        """The path of the target: no query and anchor, percent-decoded, without a leading ``./``."""
        text = unquote(re.split(r"[?#]", self.destination, maxsplit=1)[0])
        while text.startswith("./"):
            text = text[2:]
        return text


def links(outline: Outline) -> list[Link]:
    """Every link destination, in order."""
    targets: list[Link] = []
    opaque = outline.opaque  # a property that computes its value: read once, or this loop is quadratic
    for number, raw in enumerate(outline.lines):
        if number in opaque:
            continue
        line = without_code_spans(raw)
        if definition := _DEFINITION.match(line):
            group = 1 if definition[1] is not None else 2
            targets.append(Link(definition[group], number, definition.start(group) + 1))
        at = line.find("](")
        while at != -1:
            destination, end = _destination(line, at + 2)
            targets.append(Link(destination, number, at + 3))
            at = line.find("](", end)  # not from inside the destination, which would be quadratic
        if "<" in line:
            targets += [Link(match[2].strip(), number, match.start(2) + 1) for match in _ATTRIBUTE.finditer(line)]
    return targets


def _destination(line: str, start: int) -> tuple[str, int]:
    """The destination that starts at ``start``, and the offset of its end."""
    while start < len(line) and line[start] in " \t":
        start += 1
    if line.startswith("<", start):
        end = line.find(">", start)
        return (line[start + 1 : end], end) if end != -1 else ("", len(line))
    depth, end = 0, start
    while end < len(line) and line[end] not in " \t":
        if line[end] == "(":
            depth += 1
        elif line[end] == ")":
            if depth == 0:
                break
            depth -= 1
        end += 1
    return line[start:end], end


def without_code_spans(line: str) -> str:
    """The line with each code span replaced by as many spaces. Spans that cross lines are not recognized."""
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
