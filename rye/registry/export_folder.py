"""Writes an export to a folder, and removes files of an earlier export that this one does not contain.

The folder must be new, empty, or contain an earlier export, which is recognized by its list of files. Files that no
export wrote are kept. Exports are often committed, so the list and the folders can come from anyone who can commit: nothing is
written or removed through a link.
"""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path

from rye.errors import RyeError
from rye.limits import PROJECT
from rye.registry.marketplaces import Export
from rye.storage.opened_folder import OpenedFolder, opened_folder
from rye.storage.safe_files import first_link

LIST = ".rye-export.json"
_SAFE = re.compile(r"[A-Za-z0-9._][A-Za-z0-9._-]*(?:/[A-Za-z0-9._][A-Za-z0-9._-]*)*")


def write_export(folder: Path, files: Export) -> int:
    """Replace the earlier export in the folder with these files; return how many changed.

    What is read, written and removed is in the folder that was opened first, whatever takes its place meanwhile. Raises
    RyeError ``wrong-folder``, and ``symlink-in-the-way`` for a link that was not there before.
    """
    _refuse_link(folder if folder.is_symlink() else None)
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with opened_folder(folder.parent, folder.name, make=True) as opened:
            return _write(opened, files)
    except NotADirectoryError:
        raise _not_ours(folder) from None


def _write(opened: OpenedFolder, files: Export) -> int:
    earlier = _earlier(opened)
    for path in sorted({*earlier, *files}):
        _refuse_link(first_link(opened.path, opened.path / path))
    changed = 0
    for path in sorted(set(earlier) - set(files)):
        changed += _remove(opened, path)
    for path, file in sorted(files.items()):
        mode = 0o755 if file.executable else 0o644
        with opened.around(path, make=True) as (inside, name):
            if not _is_there(inside, name, file.data, mode):
                inside.replace(name, file.data, mode=mode)
                changed += 1
    opened.replace(LIST, (json.dumps(sorted(files), indent=0) + "\n").encode())
    return changed


def _refuse_link(link: Path | None) -> None:
    """Raise RyeError ``wrong-folder`` if there is a symbolic link."""
    if link is not None:
        raise RyeError(
            "wrong-folder",
            f"{str(link)!r} is a symbolic link, and an export writes only to real files and folders.",
            "Remove the link, or give another folder.",
            what="export",
        )


def _earlier(opened: OpenedFolder) -> list[str]:
    """Return the paths of the existing export; none for a new or empty folder."""
    place = opened.path / LIST
    try:
        _refuse_link(place if place.is_symlink() else None)
        data = _read(opened, LIST)
        if data is None:
            if not opened.names():
                return []
            raise _not_ours(opened.path)
        found = json.loads(data.decode("utf-8"))
        if not isinstance(found, list) or not all(isinstance(path, str) and _is_safe(path) for path in found):
            raise ValueError
        return found
    except (OSError, ValueError, RecursionError):
        raise RyeError(
            "wrong-folder",
            f"{str(place)!r} is not a list of an export's files.",
            "Give a new folder.",
            what="export",
        ) from None


def _not_ours(folder: Path) -> RyeError:
    return RyeError(
        "wrong-folder",
        f"{str(folder)!r} contains something that no export wrote.",
        "Give a new or empty folder, or one of an earlier export.",
        what="export",
    )


def _read(folder: OpenedFolder, name: str) -> bytes | None:
    """Return the bytes of a regular file; None if there is none. Raises OSError for anything else in its place."""
    try:
        with folder.open(name) as stream:
            return stream.read(PROJECT.lock_bytes)
    except FileNotFoundError:
        return None


def _is_there(folder: OpenedFolder, name: str, data: bytes, mode: int) -> bool:
    """Whether there is a regular file with these bytes and this mode."""
    try:
        with folder.open(name) as stream:
            has_mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode) == mode
            return has_mode and stream.read(len(data) + 1) == data
    except OSError:
        return False


def _is_safe(path: str) -> bool:
    return _SAFE.fullmatch(path) is not None and not {".", "..", ".git"}.intersection(path.lower().split("/"))


def _remove(opened: OpenedFolder, path: str) -> bool:
    """Remove a file, and the folders above it that become empty. Returns whether the file existed."""
    try:
        with opened.around(path) as (inside, name):
            inside.unlink(name)
    except (FileNotFoundError, NotADirectoryError):
        return False
    above = path.rpartition("/")[0]
    while above and opened.remove_empty(above):
        above = above.rpartition("/")[0]
    return True
