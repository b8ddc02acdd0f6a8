"""The content of a new override, read from a file."""

from __future__ import annotations

from rye.customization.places import decode
from rye.errors import RyeError
from rye.limits import OVERRIDES
from rye.text.line_form import read_form, split_lines
from rye.workspace.given_file import ReadStream, given_bytes
from rye.workspace.named_file import NamedFile


def content_lines(file: NamedFile, stream: ReadStream) -> tuple[str, ...]:
    """The file's lines, without line endings. Raises RyeError ``file-too-large``, ``unreadable``."""
    limit = OVERRIDES.file_bytes
    data = given_bytes(file, stream, limit)
    if len(data) > limit:
        raise RyeError("file-too-large", f"{file.shown!r} has more than {limit:,} bytes.", "Make it shorter.")
    return tuple(split_lines(read_form(decode(data, repr(file.shown)))[0])[0])
