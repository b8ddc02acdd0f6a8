"""New files at a path that the user names. Existing files are never replaced."""

from __future__ import annotations

import os

from rye.errors import RyeError
from rye.workspace.named_file import NamedFile


def write_new(file: NamedFile, text: str, *, private: bool = False) -> None:
    """Write a new file; ``private``: only its owner may read it. Raises RyeError ``already-exists``."""
    try:
        descriptor = os.open(file.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o644)
    except FileExistsError:
        raise RyeError(
            "already-exists",
            f"{file.shown} already exists.",
            "Choose another name, or remove the file first.",
            what="file",
        ) from None
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
