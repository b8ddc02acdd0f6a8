"""Calls that a process step writes in backticks: ``rye_execute(item_type="tool", item_id="rye/file-system/write", …)``.

Calls are prose for a model, not a program, so the reader accepts as much as it can: code spans as CommonMark defines them (any
number of backticks, no blank line inside), single or double quotes, nested braces, brackets and parentheses, arguments that are
not values (``parameters={...}``), and calls that are cut off. Of a call's own arguments, only ``item_type`` and ``item_id``
count, never those inside ``parameters``. :mod:`rye.items.directive.process` reads action elements.

One pass from left to right, linear in the length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rye.items.directive.text_lines import CodeSpans
from rye.items.rights import Call
from rye.text.lazy import lazy_pattern

_BLANK_LINE = lazy_pattern(r"\n[ \t]*\n")
_CALL = lazy_pattern(r"(?<![A-Za-z0-9_])rye_(execute|search|load|sign)[ \t\r\n]*\(")
_QUOTED = lazy_pattern(r"\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\"|'[^'\\]*+(?:\\.[^'\\]*+)*+'", re.DOTALL)
_PIECE = lazy_pattern(r"[\"'(\[{)\]},]|(?<![A-Za-z0-9_])rye_(?:execute|search|load|sign)[ \t\r\n]*\(")
"""The significant tokens inside a call: quotes, brackets, commas, and the start of another call."""
_PLAIN_ARGUMENT = lazy_pattern(r"\s*([A-Za-z_]\w*)\s*=\s*\"([^\"\\]*)\"\s*,")
"""A simple argument with the comma after it, the fast path."""
_COMMON = lazy_pattern(
    r"(?<![A-Za-z0-9_])rye_(execute|search|load|sign)\(item_type=\"([^\"\\]*)\", item_id=\"([^\"\\]*)\"(?=[,)])"
)
"""How nearly every call begins."""
_OWN = frozenset(("item_type", "item_id"))
_ESCAPED = lazy_pattern(r"\\(.)", re.DOTALL)


def find_calls(text: str, first_line: int = 1) -> tuple[Call, ...]:
    """Return the calls in the code spans of ``text``, in order. ``first_line`` is the file's line where ``text`` begins.

    A call's position is that of its name. Lines and columns count from 1; columns are right only if ``text`` begins at the start
    of a line. ``item_type`` and ``item_id`` are as written, placeholders included; None if missing or not a quoted string.
    """
    found: list[Call] = []
    line, line_start, counted = first_line, 0, 0
    calls: list[tuple[int, str, str | None, str | None]]
    for named, end in _code_spans(text):
        common = _COMMON.match(text, named, end)
        if common is not None and text.find("rye_", common.end(), end) < 0:
            calls = [
                (named, common[1], common[2], common[3])
            ]  # the first of each argument counts, and there is no further call
        else:
            calls = _in_span(text, named, end)
        for at, primary, item_type, item_id in calls:
            if lines := text.count("\n", counted, at):
                line += lines
                line_start = text.rfind("\n", counted, at) + 1
            counted = at
            found.append(Call(primary, item_type, item_id, line, at - line_start + 1))
    return tuple(found)


def _in_span(text: str, start: int, end: int) -> list[tuple[int, str, str | None, str | None]]:
    """The calls in ``text[start:end]``: the offset of each one's name, its primary, ``item_type`` and ``item_id``."""
    calls = []
    while (opener := _CALL.search(text, start, end)) is not None:
        arguments, start = _arguments(text, opener.end(), end)
        calls.append((opener.start(), opener[1], arguments.get("item_type"), arguments.get("item_id")))
    return calls


def _code_spans(text: str) -> Iterator[tuple[int, int]]:
    """For each code span that contains ``rye_``: the offset of the first one, and the offset of the span's closing backticks."""
    spans = CodeSpans(text, _BLANK_LINE)
    position, named = 0, -1
    while True:
        if named < position:
            named = text.find("rye_", position)
            if named < 0:
                return
            position = max(position, text.rfind("\n\n", position, named))  # a blank line, which no code span contains
        tick = text.find("`", position)
        if tick < 0:
            return
        position = spans.end(tick) if tick < named else tick
        if tick < named < position:
            yield named, tick + len(text[tick:position].rstrip("`"))


def _arguments(text: str, start: int, end: int) -> tuple[dict[str, str], int]:
    """Return the call's own quoted ``item_type`` and ``item_id`` (the first of each), and the offset where the call ends.

    A call ends at its closing parenthesis, before another call that is not in quotes, or at the end of the code span.
    """
    arguments: dict[str, str] = {}
    while (plain := _PLAIN_ARGUMENT.match(text, start, end)) is not None:
        start = plain.end()
        if plain[1] in _OWN:
            arguments.setdefault(plain[1], plain[2])
    if len(arguments) == len(_OWN) and text.find("rye_", start, end) < 0:
        return arguments, end
    depth, own, position = 1, start, start

    def keep(stop: int) -> None:
        name, _, written = text[own:stop].partition("=")
        name = name.strip()
        if name in _OWN and (value := _unquoted(written.strip())) is not None:
            arguments.setdefault(name, value)

    while depth and (piece := _PIECE.search(text, position, end)) is not None:
        position = piece.end()
        character = text[piece.start()]
        if character in "\"'":
            quoted = _QUOTED.match(text, piece.start(), end)
            position = quoted.end() if quoted is not None else end
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if not depth:
                keep(piece.start())
                return arguments, position
        elif character == "r":
            position = piece.start()
            break
        elif depth == 1:
            keep(piece.start())
            own = position
    else:
        position = end
    if depth == 1:
        keep(position)
    return arguments, position


def _unquoted(value: str) -> str | None:
    if len(value) >= 2 and value[0] in "\"'" and value[-1] == value[0]:
        return _ESCAPED.sub(r"\1", value[1:-1]) if "\\" in value else value[1:-1]
    return None
