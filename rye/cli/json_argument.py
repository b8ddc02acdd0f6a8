"""Files with a JSON object that a person gives to a command: inputs, a context."""

from __future__ import annotations

import sys
from typing import Any

from rye.cli.options import Session
from rye.errors import UsageError
from rye.project.item_file import read_bytes
from rye.text.json_reading import JsonError, read_json

_MOST_BYTES = 16 * 1024 * 1024


def read_object(session: Session, file: str, code: str, example: str) -> dict[str, Any]:
    """The object in ``file`` (``-``: standard input).

    Raises UsageError ``code`` for what is not a JSON object (:mod:`rye.text.json_reading`), with ``example`` as hint, and
    RyeError when the file cannot be read.
    """
    data = sys.stdin.buffer.read(_MOST_BYTES + 1) if file == "-" else read_bytes(session.path(file), _MOST_BYTES)
    if len(data) > _MOST_BYTES:
        raise UsageError(code, f"{file!r} has more than {_MOST_BYTES:,} bytes.", example)
    try:
        found = read_json(data)
    except JsonError as error:
        raise UsageError(code, f"{file!r} is not valid JSON: {error}.", example) from None
    if not isinstance(found, dict):
        raise UsageError(code, f"{file!r} is not a JSON object.", example)
    return found
