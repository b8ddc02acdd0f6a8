"""Replace a file so that readers see either the old or the new content, never a mix, and its permissions are kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rye.errors import RyeError
from rye.storage.safe_files import open_regular

_NAME = 32
"""Characters of a file's name in the temporary file's, so that the latter is not longer than file systems allow."""


def replace_file(path: Path, data: bytes, *, folder: int | None = None, mode: int | None = None) -> None:
    """Write ``data`` next to ``path`` and rename it into place. A new file gets the user's default permissions.

    ``folder``: the descriptor of a folder in which ``path`` is a name. ``mode``: the file's permissions, instead of those it
    has."""
    name = str(path.with_name(f".{path.name[:_NAME]}.{os.urandom(8).hex()}"))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.chmod(descriptor if os.chmod in os.supports_fd else name, _mode(path, folder) if mode is None else mode)
            os.fsync(descriptor)
        os.replace(name, path, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        raise


class Replacement(NamedTuple):
    """New bytes for a file that was read. ``shown``: its path, as shown to people."""

    path: Path
    shown: str
    old: bytes
    new: bytes


def replace_files(changes: Sequence[Replacement]) -> None:
    """Replace all files, or none: if one fails, or the user interrupts, those before it get their old bytes back.

    A file that someone edits after it was replaced keeps that edit. A file that is named more than once,
    for example through a link, is replaced once.

    Raises RyeError ``changed-meanwhile`` if a file no longer has the bytes that were read, and OSError.
    """
    changes = list({(change.path, change.old, change.new): change for change in changes}.values())
    for change in changes:
        _require_unchanged(change)
    for index, change in enumerate(changes):
        try:
            _require_unchanged(change)
            replace_file(change.path, change.new)
        except BaseException:
            _restore(changes[: index + 1])
            raise


def _restore(changes: Sequence[Replacement]) -> None:
    """Give each file that has its new bytes its old ones. Tries all; then raises the OSError of the last that failed."""
    failed: OSError | None = None
    for change in changes:
        try:
            if _has(change.path, change.new):
                replace_file(change.path, change.old)
        except OSError as error:
            failed = error
    if failed is not None:
        raise failed


def _has(path: Path, data: bytes) -> bool:
    """Whether the file exists with exactly these bytes. Reads at most one byte more."""
    try:
        with open_regular(path) as stream:
            return stream.read(len(data) + 1) == data
    except FileNotFoundError:
        return False


def _require_unchanged(change: Replacement) -> None:
    """Raise RyeError ``changed-meanwhile`` if the file does not have its old bytes."""
    if not _has(change.path, change.old):
        raise RyeError(
            "changed-meanwhile", f"{change.shown} changed just now, so nothing was written.", "Run the command again."
        )


def _mode(path: Path, folder: int | None) -> int:
    try:
        return os.stat(path, dir_fd=folder).st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
