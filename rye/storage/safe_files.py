"""Reading, locking and removing files in folders that others can write to: a named pipe or a device there blocks nobody, a
link leads nowhere, and what is read has a bound.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from rye.errors import RyeError

if TYPE_CHECKING:
    from io import BufferedReader
    from pathlib import Path


def open_regular(path: str | os.PathLike[str], folder: int | None = None) -> BufferedReader:
    """Open a regular file for reading. ``folder``: the descriptor of a folder in which ``path`` is a name, and no link.

    Raises OSError, also if it is not a regular file."""
    # Non-blocking, because opening a named pipe waits for its writer. It changes nothing for a regular file.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if folder is not None:
        flags |= os.O_NOFOLLOW
    descriptor = os.open(path, flags, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: str | os.PathLike[str], most: int | None = None) -> bytes:
    """Return the content of a regular file. Raises OSError, also if it is not a regular file or has more than ``most`` bytes."""
    with open_regular(path) as stream:
        if most is None:
            return stream.read()
        data = stream.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", os.fspath(path))
    return data


def read_bytes(path: Path, limit: int, root: Path | None = None) -> bytes:
    """Return a regular file's bytes, at most ``limit`` plus one. ``root``: a folder above it; then nothing is read through a
    symbolic link below that folder.

    Raises RyeError for devices, pipes, folders and links that loop, and ``not-a-file`` for a link below ``root``.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags if root is None else flags | getattr(os, "O_NOFOLLOW", 0))
    except OSError as error:
        raise _unread(path, root, error) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise RyeError("not-a-file", f"{str(path)!r} is not a regular file.", "Name a regular file.")
        try:
            if root is not None and not is_reached(root, path, status):
                raise RyeError("changed-meanwhile", f"{str(path)!r} was changed just now.", "Run the command again.")
        except OSError as error:
            raise _unread(path, root, error) from None
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read(limit + 1)
    finally:
        os.close(descriptor)


def _unread(path: Path, root: Path | None, error: OSError) -> RyeError:
    """Why a file was not read."""
    link = first_link(root, path) if root is not None else None
    if link is not None:
        said = f"{str(link)!r} is a symbolic link; Rye reads items only from real files and folders."
        return RyeError("not-a-file", said, "Put the file or folder itself in the link's place.")
    if isinstance(error, FileNotFoundError):
        return RyeError("no-such-file", f"There is no file {str(path)!r}.", "Check the path.")
    return RyeError("unreadable", f"Cannot read {str(path)!r}: {error.strerror}.")


def is_reached(root: Path, place: Path, opened: os.stat_result) -> bool:
    """Whether an opened file is the one to which its path leads from ``root`` without a symbolic link on the way, so that no
    folder was replaced with a link in the meantime. Raises OSError, also for a link in a folder's place."""
    if os.open not in os.supports_dir_fd:
        return first_link(root, place) is None and os.path.samestat(os.lstat(place), opened)
    *folders, name = place.relative_to(root).parts
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in folders:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = below
        return os.path.samestat(os.stat(name, dir_fd=here, follow_symlinks=False), opened)
    finally:
        os.close(here)


def first_link(root: Path, place: Path) -> Path | None:
    """Return the first symbolic link on the way from ``root`` to ``place``, which can be the link; None: there is none."""
    here = root
    for part in place.relative_to(root).parts:
        here = here / part
        if here.is_symlink():
            return here
    return None


def refuse_links(root: Path, place: Path) -> None:
    """Refuse to write to a place that a link leads to. Raises RyeError ``symlink-in-the-way``."""
    link = first_link(root, place)
    if link is not None:
        raise RyeError(
            "symlink-in-the-way",
            f"{str(link.relative_to(root))!r} is a symbolic link; Rye writes only to real files and folders.",
            "Remove the link, or put a real folder in its place.",
        )


def remove_tree(place: str | os.PathLike[str], folder: int | None = None) -> None:
    """Remove a folder, or what is in its place. What cannot be removed is left; a missing folder is not an error. ``folder``: the
    descriptor of a folder in which ``place`` is a name."""
    try:
        is_folder = stat.S_ISDIR(os.stat(place, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return
    if not is_folder:  # rmtree would open it, and wait for the writer of a named pipe
        with suppress(OSError):
            os.unlink(place, dir_fd=folder)
        return
    import shutil  # imports three compressors, and a run without changes does not need it

    shutil.rmtree(place, ignore_errors=True, dir_fd=folder)


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
