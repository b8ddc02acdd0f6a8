"""Reading a JSON object or a text that a person gives to a command as a file or a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rye.errors import UsageError
from rye.project.bounded_file import read_bytes
from rye.text.json_reading import JsonError, read_json
from rye.workspace.named_file import NamedFile

ReadStream = Callable[[int], bytes]
"""Reads at most so many bytes of standard input."""
_MOST_BYTES = 16 * 1024 * 1024


def given_bytes(file: NamedFile, stream: ReadStream, limit: int) -> bytes:
    """What the file holds, one byte more than ``limit`` at most; the stream's where it is called ``-``.

    Raises RyeError where the file cannot be read.
    """
    return stream(limit + 1) if file.shown == "-" else read_bytes(file.path, limit)


def given_object(file: NamedFile, stream: ReadStream, code: str, example: str) -> dict[str, Any]:
    """The JSON object in a file.

    Raises UsageError ``code`` for what is not a JSON object (:mod:`rye.text.json_reading`), with ``example`` as hint, and
    RyeError when the file cannot be read.
    """
    data = given_bytes(file, stream, _MOST_BYTES)
    if len(data) > _MOST_BYTES:
        raise UsageError(code, f"{file.shown!r} has more than {_MOST_BYTES:,} bytes.", example)
    try:
        found = read_json(data)
    except JsonError as error:
        raise UsageError(code, f"{file.shown!r} is not valid JSON: {error}.", example) from None
    if not isinstance(found, dict):
        raise UsageError(code, f"{file.shown!r} is not a JSON object.", example)
    return found
