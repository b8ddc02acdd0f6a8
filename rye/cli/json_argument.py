"""Files with a JSON object that a person gives to a command: inputs, a context."""

from __future__ import annotations

import json
import math
import sys
from typing import Any, NoReturn

from rye.cli.options import Session
from rye.errors import UsageError
from rye.project.item_file import read_bytes

_MOST_BYTES = 16 * 1024 * 1024


def read_object(session: Session, file: str, code: str, example: str) -> dict[str, Any]:
    """The object in ``file`` (``-``: standard input).

    Raises UsageError ``code`` for what is no JSON object or no JSON at all (NaN, numbers beyond a double and a key given
    twice are none), with ``example`` as hint, and RyeError when the file cannot be read.
    """
    data = sys.stdin.buffer.read(_MOST_BYTES + 1) if file == "-" else read_bytes(session.path(file), _MOST_BYTES)
    if len(data) > _MOST_BYTES:
        raise UsageError(code, f"{file!r} has more than {_MOST_BYTES:,} bytes.", example)
    try:
        found = json.loads(data, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise UsageError(code, f"{file!r} is not JSON: {error}.", example) from None
    if not isinstance(found, dict):
        raise UsageError(code, f"{file!r} is not a JSON object.", example)
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key[:80]!r} stands twice")
        found[key] = value
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON value")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:20]} is too large")
    return number
