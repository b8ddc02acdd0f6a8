"""Replace a file so that readers see either the old or the new content, never a mix, and its permissions are kept."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rye.errors import RyeError


def replace_file(path: Path, data: bytes) -> None:
    """Write ``data`` next to ``path`` and rename it into place. A new file gets the user's default permissions."""
    folder = path.parent
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, _mode(path))
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


class Replacement(NamedTuple):
    """New bytes for a file that was read. ``shown``: its path, as shown to people."""

    path: Path
    shown: str
    old: bytes
    new: bytes


def replace_files(changes: Sequence[Replacement]) -> None:
    """Replace all files, or none: if one fails, those before it get their old bytes back.

    Raises RyeError ``changed-meanwhile`` if a file no longer has the bytes that were read, and OSError.
    """
    for change in changes:
        _require_unchanged(change)
    for index, change in enumerate(changes):
        try:
            _require_unchanged(change)
            replace_file(change.path, change.new)
        except (OSError, RyeError):
            for written in changes[:index]:
                replace_file(written.path, written.old)
            raise


def _require_unchanged(change: Replacement) -> None:
    """Raise RyeError ``changed-meanwhile`` if the file does not have its old bytes. Reads at most one byte more."""
    try:
        with change.path.open("rb") as stream:
            unchanged = stream.read(len(change.old) + 1) == change.old
    except FileNotFoundError:
        unchanged = False
    if not unchanged:
        raise RyeError(
            "changed-meanwhile", f"{change.shown} changed just now, so nothing was written.", "Run the command again."
        )


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
