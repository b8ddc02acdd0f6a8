"""Fill input values into text (DECISIONS Directives 8, 9; DESIGN §8).

A value is inserted as it is, a boolean as ``true``/``false``, an object or array as compact JSON, null as nothing. Without a
value, the placeholder's own default or emptiness applies. A required placeholder without a value is missing, and the caller
reports all of a prompt's missing ones together. There is one pass: inserted values and defaults are never scanned again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite

from msgspec import Struct

from rye.errors import RyeError
from rye.items.directive.input_values import compact_json
from rye.items.directive.placeholders import find


class MissingValue(Struct, frozen=True):
    """A required placeholder without a value. ``line`` counts from 1 in the file; None: unknown."""

    name: str
    line: int | None


def text_of(value: object) -> str:
    """Return a JSON value as a prompt shows it (DECISIONS Directives 9). A value that JSON lacks (NaN) becomes empty."""
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return ""
    return compact_json(value)


def interpolate(
    text: str, values: Mapping[str, object], lines: Sequence[int] = ()
) -> tuple[str, tuple[MissingValue, ...]]:
    """Fill the placeholders of ``text`` from ``values`` (which include declared defaults). Return the text, and the placeholders
    that have no value and remain as written. ``lines``: the file's line for each line of ``text``, if known."""
    pieces: list[str] = []
    missing: list[MissingValue] = []
    position = index = 0
    for placeholder in find(text):
        pieces.append(text[position : placeholder.start])
        index += text.count("\n", position, placeholder.start)
        written = text[placeholder.start : placeholder.end]
        if placeholder.name in values:
            pieces.append(text_of(values[placeholder.name]))
        elif placeholder.required:
            pieces.append(written)
            missing.append(MissingValue(placeholder.name, lines[index] if index < len(lines) else None))
        else:
            pieces.append(placeholder.default or "")
        index += written.count("\n")
        position = placeholder.end
    pieces.append(text[position:])
    return "".join(pieces), tuple(missing)


Place = Callable[[int], tuple[str | None, int]]
"""Maps a line of the merged text to the file and line where it was written; no file means the item's own."""


def own_file(line: int) -> tuple[str | None, int]:
    """The place of a line in text that comes from a single file."""
    return None, line


def missing_values(missing: Iterable[MissingValue], place: Place = own_file) -> RyeError:
    """The error for required placeholders without a value, each with its line in the file where it was written."""
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
        f"Required inputs have no value: {', '.join(shown)}.",
        f"Set it with --input {name}=VALUE, or write {{input:{name}?}} to make it optional.",
        details={"missing": details},
    )
