"""Filling input values into text (DECISIONS Directives 8, 9; DESIGN §8).

A value stands as it is, a boolean as ``true``/``false``, an object or array as compact JSON, null as nothing. Where there is no
value, the placeholder's own default or emptiness counts; a required placeholder is then missing, and the caller says so for all
of a prompt at once. One pass: what a value or a default brings in is never scanned again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite

from msgspec import Struct

from rye.errors import RyeError
from rye.items.directive.input_values import compact_json
from rye.items.directive.placeholders import find


class Missing(Struct, frozen=True):
    """A required placeholder without a value; ``line`` counts from 1 in the file, None: not known."""

    name: str
    line: int | None


def text_of(value: object) -> str:
    """A JSON value as it stands in a prompt (DECISIONS Directives 9). What JSON cannot write (NaN) is nothing."""
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return ""
    return compact_json(value)


def interpolate(text: str, values: Mapping[str, object], lines: Sequence[int] = ()) -> tuple[str, tuple[Missing, ...]]:
    """``text`` with its placeholders filled from ``values`` (declared defaults included), and the placeholders that could
    not be: they stay as written. ``lines``: the file's line that each line of ``text`` stands on, where they are known."""
    pieces: list[str] = []
    missing: list[Missing] = []
    position = index = 0
    for placeholder in find(text):
        pieces.append(text[position : placeholder.start])
        index += text.count("\n", position, placeholder.start)
        written = text[placeholder.start : placeholder.end]
        if placeholder.name in values:
            pieces.append(text_of(values[placeholder.name]))
        elif placeholder.required:
            pieces.append(written)
            missing.append(Missing(placeholder.name, lines[index] if index < len(lines) else None))
        else:
            pieces.append(placeholder.default or "")
        index += written.count("\n")
        position = placeholder.end
    pieces.append(text[position:])
    return "".join(pieces), tuple(missing)


Place = Callable[[int], tuple[str | None, int]]
"""From a line of the text that was read to the file and the line that it was written on; no file: the item's own."""


def own_file(line: int) -> tuple[str | None, int]:
    """The place of a line in a text that is a file's."""
    return None, line


def missing_values(missing: Iterable[Missing], place: Place = own_file) -> RyeError:
    """The error for required placeholders without a value, each with its line, in the file that it was written in."""
    found = list(dict.fromkeys(missing))
    shown: list[str] = []
    details: list[dict[str, object]] = []
    for one in found:
        path, line = place(one.line) if one.line is not None else (None, None)
        where = "" if line is None else f" on line {line}" + (f" of {path}" if path is not None else "")
        shown.append(f"{{input:{one.name}}}{where}")
        details.append({"input": one.name, "line": line, "path": path})
    name = found[0].name
    return RyeError(
        "missing-input",
        f"Required without a value: {', '.join(shown)}.",
        f"Give it with --input {name}=VALUE, or write {{input:{name}?}} where it may be left out.",
        details={"missing": details},
    )
