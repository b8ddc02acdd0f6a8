"""An input that an item declares, and text read as a value of the declared type.

The types are those of the directive format: string, integer, boolean, object and array. Text is converted when a person types it
or a ``default`` attribute holds it (DECISIONS Directives 14). Values from JSON are checked and never converted.
"""

from __future__ import annotations

import json

from msgspec import Struct

from rye.limits import CONTENT
from rye.text.json_reading import JsonError, read_json
from rye.text.lazy import lazy_pattern

INPUT_TYPES = ("string", "integer", "boolean", "object", "array")

_INTEGER = lazy_pattern(r"[+-]?[0-9]{1,400}")
_PYTHON_TYPES: dict[str, type] = {"string": str, "integer": int, "boolean": bool, "object": dict, "array": list}


class InputDeclaration(Struct, frozen=True):
    """One declared ``<input>``."""

    name: str
    type: str
    """One of :data:`INPUT_TYPES`."""
    required: bool = False
    default: str | None = None
    """The attribute as written, or None. It is read as text of the declared type."""
    description: str = ""
    line: int | None = None
    """The line in the file, from 1."""


def from_text(input_type: str, text: str) -> object:
    """Convert ``text`` to a value of ``input_type``. Raises ValueError saying what was expected."""
    if input_type == "string":
        value: object = text
    elif input_type == "integer":
        if _INTEGER.fullmatch(text.strip()) is None:
            raise ValueError("expected an integer, such as 120")
        value = int(text)
    elif input_type == "boolean":
        if text.strip().lower() not in ("true", "false"):
            raise ValueError("expected true or false")
        value = text.strip().lower() == "true"
    elif input_type in ("object", "array"):
        value = _json(text, input_type)
    else:
        raise ValueError(f"unknown type {input_type!r}; types are {', '.join(INPUT_TYPES)}")
    return checked(input_type, value)


def checked(input_type: str, value: object) -> object:
    """Return ``value`` if it has exactly the declared type: ``"5"`` and ``5.0`` are not integers, ``1`` is not ``true``.

    Raises ValueError saying what was expected.
    """
    expected = _PYTHON_TYPES.get(input_type)
    if expected is None:
        raise ValueError(f"unknown type {input_type!r}; types are {', '.join(INPUT_TYPES)}")
    if type(value) is not expected:
        article = "an" if input_type[0] in "aio" else "a"
        raise ValueError(f"expected {article} {input_type}, not {_described(value)}")
    if expected in (str, dict, list):
        try:
            compact_json(value).encode()
        except UnicodeEncodeError:
            raise ValueError("holds half of a surrogate pair, which is not text") from None
        except RecursionError:  # only a value built by a program; the JSON reader limits depth
            raise ValueError(f"is nested more than {CONTENT.json_depth} deep") from None
    return value


def compact_json(value: object) -> str:
    """Return JSON without spaces, keys in their own order, non-ASCII as is. Raises ValueError for NaN and infinities."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _json(text: str, input_type: str) -> object:
    try:
        return read_json(text)
    except JsonError as error:
        raise ValueError(f"expected JSON of type {input_type}: {error}") from None


def _described(value: object) -> str:
    if value is None:
        return "null"
    if value is True or value is False:
        return f"the boolean {str(value).lower()}"
    if isinstance(value, str):
        return f"the string {json.dumps(value[:40])}"
    if isinstance(value, int | float):
        return f"the number {str(value)[:40]}"
    return "an object" if isinstance(value, dict) else "an array" if isinstance(value, list) else type(value).__name__
