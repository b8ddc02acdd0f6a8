"""Reading a JSON object or text that a person gives to a command as a file or on standard input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rye.errors import UsageError
from rye.storage.safe_files import read_bytes
from rye.text.json_reading import JsonError, read_json
from rye.workspace.named_file import NamedFile

ReadStream = Callable[[int], bytes]
"""Reads at most this many bytes of standard input."""
_MOST_BYTES = 16 * 1024 * 1024


def given_bytes(file: NamedFile, stream: ReadStream, limit: int) -> bytes:
    """The bytes of the file, or of the stream if it is ``-``: at most one more than ``limit``.

    Raises RyeError if the file cannot be read.
    """
    return stream(limit + 1) if file.shown == "-" else read_bytes(file.path, limit)


def given_object(file: NamedFile, stream: ReadStream, what: str, example: str) -> dict[str, Any]:
    """The JSON object in a file.

    Raises UsageError ``bad-argument``, with ``what`` for the thing that the file is and ``example`` as hint, unless it is a JSON
    object (:mod:`rye.text.json_reading`), and RyeError if the file cannot be read.
    """
    data = given_bytes(file, stream, _MOST_BYTES)
    if len(data) > _MOST_BYTES:
        raise UsageError("bad-argument", f"{file.shown!r} has more than {_MOST_BYTES:,} bytes.", example, what=what)
    try:
        found = read_json(data)
    except JsonError as error:
        raise UsageError("bad-argument", f"{file.shown!r} is not valid JSON: {error}.", example, what=what) from None
    if not isinstance(found, dict):
        raise UsageError("bad-argument", f"{file.shown!r} is not a JSON object.", example, what=what)
    return found
