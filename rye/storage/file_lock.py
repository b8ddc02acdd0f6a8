"""A lock file, held while a block runs, so that only one program at a time does so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class LockTimeout(TimeoutError):
    """Another program held the lock for too long."""


@contextmanager
def file_lock(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock for the block, waiting at most ``seconds``. Raises LockTimeout, and OSError from the file."""
    from filelock import FileLock, Timeout  # slow to import, and only needed by code that writes

    lock = FileLock(path)
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        raise LockTimeout(f"another program holds {path}") from None
    try:
        yield
    finally:
        lock.release()
