"""Reading a file that a person or a project names, up to a size limit."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from rye.errors import RyeError


def read_bytes(path: Path, limit: int) -> bytes:
    """Return a regular file's bytes, at most ``limit`` plus one. Raises RyeError for devices, pipes, folders and link loops."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        raise RyeError("no-such-file", f"There is no file {str(path)!r}.", "Check the path.") from None
    except OSError as error:
        raise RyeError("unreadable", f"Cannot read {str(path)!r}: {error.strerror}.") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise RyeError("not-a-file", f"{str(path)!r} is not a regular file.", "Name a regular file.")
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read(limit + 1)
