"""TOML for item files: ``tomllib`` for the values, a linear scan for the line numbers, limits before and after.

``tomllib`` gives no positions, recurses on nested arrays and takes quadratic time on long dotted keys. So keys with too many
parts are refused before it runs, its recursion error becomes a finding, and the result's depth is checked without recursion.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

from msgspec import Struct

from rye.limits import CONTENT, ContentLimits
from rye.text.yaml_reading import hidden_by_escape

_PART = r"(?>[A-Za-z0-9_-]+|\"[^\"\n]*\"|'[^'\n]*')"
_ERROR_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_HEADER = re.compile(r"[ \t]*(\[\[?)[ \t]*([^\]\n]+?)[ \t]*\]")
_KEY = re.compile(rf"[ \t]*({_PART}(?>(?>[ \t]*\.[ \t]*{_PART})*))[ \t]*=")
_STRING_OR_BREAK = re.compile(r"\"\"\"|'''|\"|'|#|\n")


class TomlError(ValueError):
    """The text is not acceptable TOML; gives the reason and the position (counted from 1)."""

    def __init__(self, message: str, line: int | None, column: int | None = None):
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


class TomlDocument(Struct, frozen=True):
    """The values, and the lines of their keys."""

    value: dict[str, Any]
    lines: dict[tuple[str | int, ...], int]
    """Lines by path, e.g. ``("steps", 1, "needs")``, for tables and plainly written keys, not for those in inline tables."""

    def line(self, *path: str | int) -> int | None:
        """The line of the value at ``path``, or of its nearest ancestor that has one."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path) if path else None


def read_toml(text: str, limits: ContentLimits = CONTENT) -> TomlDocument:
    """Parse a TOML document. Raises TomlError."""
    starts = _line_starts(text)
    long_key = re.compile(rf"[ \t]*\[*[ \t]*{_PART}(?>[ \t]*\.[ \t]*{_PART}){{{limits.toml_depth}}}")
    inline_key = re.compile(rf"[{{,][ \t]*{_PART}(?>[ \t]*\.[ \t]*{_PART}){{{limits.toml_depth}}}")
    for number, line in starts:
        if long_key.match(line) or inline_key.search(line):
            raise TomlError(f"a key has more than {limits.toml_depth} parts", number)
    try:
        value = tomllib.loads(text)
    except RecursionError:
        raise TomlError("arrays or tables are nested too deep", None) from None
    except ValueError as error:  # TOMLDecodeError, or int() on a number with thousands of digits
        message = str(error)
        place = _ERROR_PLACE.search(message)
        at = int(place[1]) if place and place[1] else text.count("\n") + 1 if place else None
        column = int(place[2]) if place and place[2] else None
        plain = _ERROR_PLACE.sub("", message)
        raise TomlError(plain[:1].lower() + plain[1:], at, column) from None
    if _depth_exceeds(value, limits.toml_depth):
        raise TomlError(f"arrays or tables are nested more than {limits.toml_depth} deep", None)
    if "\\" in text:
        _refuse_hidden(value)
    return TomlDocument(value, _places(starts))


def _depth_exceeds(value: Any, limit: int) -> bool:
    stack = [(value, 1)]
    while stack:
        part, depth = stack.pop()
        if isinstance(part, dict | list):
            if depth > limit:
                return True
            stack += [(child, depth + 1) for child in (part.values() if isinstance(part, dict) else part)]
    return False


def _refuse_hidden(value: Any) -> None:
    """Refuse escapes that write what the file itself must not contain (DESIGN §5 Content)."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            stack += [*part, *part.values()]
        elif isinstance(part, list):
            stack += part
        elif isinstance(part, str) and (hidden := hidden_by_escape(part)):
            raise TomlError(hidden, None)


def _line_starts(text: str) -> list[tuple[int, str]]:
    """The lines (numbered from 1) that do not start inside a multi-line string."""
    out: list[tuple[int, str]] = []
    number, position, begin = 1, 0, 0
    closers = {
        '"""': re.compile(r'(?>(?:[^"\\]++|\\[\s\S]|"(?!""))*)"""'),
        "'''": re.compile(r"(?>(?:[^']++|'(?!''))*)'''"),
    }
    simple = {'"': re.compile(r'[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+"?'), "'": re.compile(r"[^'\n]*+'?")}
    while match := _STRING_OR_BREAK.search(text, position):
        token, position = match[0], match.end()
        if token == "\n":
            out.append((number, text[begin : match.start()]))
            number, begin = number + 1, position
        elif token == "#":
            end = text.find("\n", position)
            position = end if end != -1 else len(text)
        elif token in simple:
            position = simple[token].match(text, position).end()  # type: ignore[union-attr]  # matches the empty text
        else:
            closed = closers[token].match(text, position)
            if closed is None:
                break
            newlines = text.count("\n", position, closed.end())
            if newlines:
                out.append((number, text[begin : match.start()]))
                number += newlines
                # The rest of the string's last line contains no key.
                end = text.find("\n", closed.end())
                begin = end if end != -1 else len(text)
            position = closed.end()
    out.append((number, text[begin:]))
    return out


def _places(starts: list[tuple[int, str]]) -> dict[tuple[str | int, ...], int]:
    lines: dict[tuple[str | int, ...], int] = {}
    counts: dict[tuple[str | int, ...], int] = {}
    table: tuple[str | int, ...] = ()
    for number, line in starts:
        if header := _HEADER.match(line):
            names = _parts(header[2])
            if header[1] == "[[":
                parent = _indexed(names[:-1], counts)
                lines.setdefault((*parent, names[-1]), number)
                path = (*parent, names[-1])
                table = (*path, counts.get(path, 0))
                counts[path] = counts.get(path, 0) + 1
            else:
                table = _indexed(names, counts)
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            path = (*table, *_parts(key[1]))
            for length in range(len(table) + 1, len(path) + 1):
                lines.setdefault(path[:length], number)
    return lines


def _indexed(names: list[str], counts: dict[tuple[str | int, ...], int]) -> tuple[str | int, ...]:
    """A header's names, with the index of the last element after each array of tables."""
    path: tuple[str | int, ...] = ()
    for name in names:
        path = (*path, name)
        if path in counts:
            path = (*path, counts[path] - 1)
    return path


def _parts(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in re.findall(rf"{_PART}", dotted)] or [dotted]
