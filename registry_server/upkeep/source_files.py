"""Reading the files of a backup, which may be anything: a pipe that never answers, a device, a file without an end."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def read_regular(place: Path, most: int) -> bytes:
    """Return a regular file's bytes. Raises OSError: it is missing, something else, or has more than ``most`` bytes."""
    descriptor = os.open(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is not a regular file")
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(0, f"it has more than {most:,} bytes")
    return data
