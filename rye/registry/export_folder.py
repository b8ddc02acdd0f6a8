"""Writes an export to a folder, and removes files of an earlier export that this one does not contain.

The folder must be new, empty, or contain an earlier export, which is recognized by its list of files. Files that no
export wrote are kept. Exports are often committed, so the list and the folders can come from anyone who can commit: nothing is
written or removed through a link.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path

from rye.errors import RyeError
from rye.registry.marketplaces import Export
from rye.storage.atomic import replace_file
from rye.storage.safe_files import first_link

LIST = ".rye-export.json"
_SAFE = re.compile(r"[A-Za-z0-9._][A-Za-z0-9._-]*(?:/[A-Za-z0-9._][A-Za-z0-9._-]*)*")


def write_export(folder: Path, files: Export) -> int:
    """Replace the earlier export in the folder with these files; return how many changed. Raises RyeError ``wrong-folder``."""
    _refuse_link(folder if folder.is_symlink() else None)
    earlier = _earlier(folder)
    for path in sorted({*earlier, *files}):
        _refuse_link(first_link(folder, folder / path))
    changed = 0
    for path in sorted(set(earlier) - set(files)):
        changed += _remove(folder, path)
    for path, file in sorted(files.items()):
        place = folder / path
        mode = 0o755 if file.executable else 0o644
        if place.is_file() and place.read_bytes() == file.data and place.stat().st_mode & 0o777 == mode:
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        replace_file(place, file.data)
        place.chmod(mode)
        changed += 1
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / LIST, (json.dumps(sorted(files), indent=0) + "\n").encode())
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


def _earlier(folder: Path) -> list[str]:
    """Return the paths of the existing export; none for a new or empty folder."""
    try:
        _refuse_link(first_link(folder, folder / LIST))
        found = json.loads((folder / LIST).read_text("utf-8"))
        if not isinstance(found, list) or not all(isinstance(path, str) and _is_safe(path) for path in found):
            raise ValueError
        return found
    except FileNotFoundError:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise RyeError(
                "wrong-folder",
                f"{str(folder)!r} contains something that no export wrote.",
                "Give a new or empty folder, or one of an earlier export.",
                what="export",
            ) from None
        return []
    except (OSError, ValueError, RecursionError):
        raise RyeError(
            "wrong-folder",
            f"{str(folder / LIST)!r} is not a list of an export's files.",
            "Give a new folder.",
            what="export",
        ) from None


def _is_safe(path: str) -> bool:
    return _SAFE.fullmatch(path) is not None and not {".", "..", ".git"}.intersection(path.lower().split("/"))


def _remove(folder: Path, path: str) -> bool:
    """Remove a file, and the folders above it that become empty. Returns whether the file existed."""
    try:
        os.unlink(folder / path)
    except FileNotFoundError:
        return False
    above = (folder / path).parent
    with contextlib.suppress(OSError):
        while above != folder:
            above.rmdir()
            above = above.parent
    return True
