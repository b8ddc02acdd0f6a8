"""One program at a time: a lock file, held while a block runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class LockTimeout(TimeoutError):
    """Another program held the lock for too long."""


@contextmanager
def file_lock(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock for the block; wait for it at most ``seconds``. Raises LockTimeout, and OSError of the file."""
    from filelock import FileLock, Timeout  # takes long to import, and only what writes needs it

    lock = FileLock(path)
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        raise LockTimeout(f"another program holds {path}") from None
    try:
        yield
    finally:
        lock.release()
