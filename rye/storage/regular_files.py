"""Read files in folders that others can write to, without being blocked by a named pipe or device there."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading. Raises OSError, also if it is not a regular file."""
    # Non-blocking, because opening a named pipe waits for its writer. It changes nothing for a regular file.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a regular file. Raises OSError, also if it is not a regular file."""
    with open_regular(path) as stream:
        return stream.read()
