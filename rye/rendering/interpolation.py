"""Filling input values into text (DECISIONS Directives 8, 9; DESIGN §8).

A value stands as it is, a boolean as ``true``/``false``, an object or array as compact JSON, null as nothing. Where there is no
value, the placeholder's own default or emptiness counts; a required placeholder is then missing, and the caller says so for all
of a prompt at once. One pass: what a value or a default brings in is never scanned again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


def interpolate(text: str, values: Mapping[str, object], first_line: int | None = 1) -> tuple[str, tuple[Missing, ...]]:
    """``text`` with its placeholders filled from ``values`` (declared defaults included), and the placeholders that could
    not be: they stay as written. ``first_line`` is the file's line on which ``text`` begins."""
    pieces: list[str] = []
    missing: list[Missing] = []
    position, line = 0, first_line
    for placeholder in find(text):
        pieces.append(text[position : placeholder.start])
        if line is not None:
            line += text.count("\n", position, placeholder.start)
        written = text[placeholder.start : placeholder.end]
        if placeholder.name in values:
            pieces.append(text_of(values[placeholder.name]))
        elif placeholder.required:
            pieces.append(written)
            missing.append(Missing(placeholder.name, line))
        else:
            pieces.append(placeholder.default or "")
        if line is not None:
            line += written.count("\n")
        position = placeholder.end
    pieces.append(text[position:])
    return "".join(pieces), tuple(missing)


def missing_values(missing: Iterable[Missing]) -> RyeError:
    """The error for required placeholders without a value, each with its line."""
    found = list(dict.fromkeys(missing))
    places = [f"{{input:{one.name}}}" + (f" in line {one.line}" if one.line is not None else "") for one in found]
    name = found[0].name
    return RyeError(
        "missing-input",
        f"Required without a value: {', '.join(places)}.",
        f"Give it with --input {name}=VALUE, or write {{input:{name}?}} where it may be left out.",
        details={"missing": [{"input": one.name, "line": one.line} for one in found]},
    )
