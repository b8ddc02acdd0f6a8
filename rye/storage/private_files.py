"""Files that only their owner may read or change: written whole or not at all, and checked for what others may do to them."""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
from pathlib import Path

from rye.storage.regular_files import open_regular


def make_folder(path: Path) -> None:
    """Create a folder, and its missing parents, that only the owner can enter; one that exists keeps its mode."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def write(path: Path, text: str) -> None:
    """Replace a file atomically; the new one has mode 0600."""
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        write_new(temporary, text)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise


def write_new(path: Path, text: str) -> None:
    """Create a file with mode 0600. Raises FileExistsError when there is one, a dangling symlink included."""
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
    """Others may change a file that is trusted. ``fix``: the command that ends it."""

    def __init__(self, message: str, fix: str):
        super().__init__(message)
        self.fix = fix


def read_trusted(path: Path) -> bytes:
    """A file that only this user can change (or root, who can change everything).

    Raises Exposed for one that others can change or own, or whose folder anybody may write to, and OSError, also for what is
    not a regular file.
    """
    with open_regular(path) as stream:
        if os.name == "posix":
            _require_own(path, os.fstat(stream.fileno()), path.parent.stat())
        return stream.read()


def _require_own(path: Path, file: os.stat_result, folder: os.stat_result) -> None:
    """A folder without the sticky bit lets anybody put another file in the place of one."""
    if file.st_uid not in (os.geteuid(), 0):
        raise Exposed(f"{path} belongs to another user", f"chown {os.geteuid()} {shlex.quote(str(path))}")
    if stat.S_IMODE(file.st_mode) & 0o022:
        raise Exposed(f"{path} can be changed by other users", f"chmod 600 {shlex.quote(str(path))}")
    if folder.st_uid not in (os.geteuid(), 0):
        raise Exposed(f"{path.parent} belongs to another user", f"chown {os.geteuid()} {shlex.quote(str(path.parent))}")
    if folder.st_mode & 0o002 and not folder.st_mode & stat.S_ISVTX:
        raise Exposed(f"anybody may write to {path.parent}", f"chmod 700 {shlex.quote(str(path.parent))}")


def readable_by_others(path: Path) -> bool:
    """Whether group or everybody may read or change the file. False where the system has no such modes."""
    return os.name == "posix" and bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def writable_by_others(path: Path) -> bool:
    """Whether group or everybody may change the file. False where the system has no such modes."""
    return os.name == "posix" and bool(stat.S_IMODE(path.stat().st_mode) & 0o022)
