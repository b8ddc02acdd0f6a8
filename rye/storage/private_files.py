"""Files that only their owner can read or change: written completely or not at all, and checked for access by others."""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
from pathlib import Path

from rye.storage.safe_files import open_regular


def make_folder(path: Path) -> None:
    """Create a folder that only the owner can enter, and its missing parents. An existing folder keeps its mode."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def write(path: Path, text: str) -> None:
    """Replace a file atomically. The new one has mode 0600."""
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        write_new(temporary, text)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise


def write_new(path: Path, text: str) -> None:
    """Create a file with mode 0600. Raises FileExistsError if it exists, even as a dangling symlink."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink()
        raise


class Exposed(OSError):
    """Other users can change a trusted file, or read a secret one. ``fix``: the command that ends this."""

    def __init__(self, message: str, fix: str):
        super().__init__(message)
        self.fix = fix


def read_trusted(path: Path) -> bytes:
    """Return the content of a file that only this user (or root) can change.

    Raises Exposed for a file that others own or can change, or whose folder anyone can write to, and OSError, also if it is not a
    regular file.
    """
    with open_regular(path) as stream:
        if os.name == "posix":
            _require_own(path, os.fstat(stream.fileno()), path.parent.stat())
        return stream.read()


def read_trusted_if_any(path: Path) -> bytes | None:
    """Return the same; None: there is nothing of this name. A link to a file that is not there is an OSError: what the file said
    is lost, and that is not the same as nothing.

    Raises as :func:`read_trusted` does.
    """
    while True:
        try:
            return read_trusted(path)
        except FileNotFoundError:
            try:
                found = path.lstat()
            except FileNotFoundError:
                return None
            if stat.S_ISLNK(found.st_mode):
                raise OSError("it is a link to a file that is not there") from None
        # It is there now: another program has just written it.


def read_secret(path: Path) -> bytes:
    """Return the content of a file that only this user (or root) can read or change.

    Raises Exposed and OSError as :func:`read_trusted` does, and Exposed for a file that others can read.
    """
    with open_regular(path) as stream:
        if os.name == "posix":
            status = os.fstat(stream.fileno())
            _require_own(path, status, path.parent.stat())
            if stat.S_IMODE(status.st_mode) & 0o044:
                raise Exposed(f"{path} can be read by other users", f"chmod 600 {shlex.quote(str(path))}")
        return stream.read()


def _require_own(path: Path, file: os.stat_result, folder: os.stat_result) -> None:
    """Check file and folder. In a folder without the sticky bit, anyone with write access can replace a file."""
    if file.st_uid not in (os.geteuid(), 0):
        raise Exposed(f"{path} belongs to another user", f"chown {os.geteuid()} {shlex.quote(str(path))}")
    if stat.S_IMODE(file.st_mode) & 0o022:
        raise Exposed(f"{path} can be changed by other users", f"chmod 600 {shlex.quote(str(path))}")
    if folder.st_uid not in (os.geteuid(), 0):
        raise Exposed(f"{path.parent} belongs to another user", f"chown {os.geteuid()} {shlex.quote(str(path.parent))}")
    if folder.st_mode & 0o002 and not folder.st_mode & stat.S_ISVTX:
        raise Exposed(f"anyone can write to {path.parent}", f"chmod 700 {shlex.quote(str(path.parent))}")


def readable_by_others(path: Path) -> bool:
    """Whether group or others can read or change the file. False if the system has no such modes."""
    return os.name == "posix" and bool(stat.S_IMODE(path.stat().st_mode) & 0o077)
