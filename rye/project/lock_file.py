"""Reading the project's lock from disk, and where the files of an item in it are:
``.ai/packages/<namespace>/<kind folder>/<category>/<name><suffix>`` (DESIGN §6).

An item of an editable folder has such a path for messages and lookups, but no file there, so code that reads the path finds
nothing.
"""

from __future__ import annotations

from pathlib import Path

from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.limits import PROJECT
from rye.project.layout import Project, read_project_file
from rye.project.lock import Lock, LockedItem, LockError, parse_lock


def read_lock(project: Project) -> Lock:
    """Return the project's lock; an empty one if the file does not exist. Raises LockError."""
    return _parsed(read_project_file(project.lock_path, PROJECT.lock_bytes))


def read_lock_at(path: Path) -> Lock:
    """Return the lock in this file. Raises RyeError ``no-such-file`` and LockError."""
    data = read_project_file(path, PROJECT.lock_bytes)
    if data is None:
        raise RyeError("no-such-file", f"There is no file {str(path)!r}.", "Check the path.")
    return _parsed(data)


def editable_rows(project: Project) -> tuple[LockedItem, ...]:
    """Return the rows of editable folders. Most locks have none and are not parsed. Raises LockError."""
    data = read_project_file(project.lock_path, PROJECT.lock_bytes)
    if data is None or b"editable" not in data:
        return ()
    return tuple(row for row in _parsed(data).items if row.is_editable)


def _parsed(data: bytes | None) -> Lock:
    try:
        return parse_lock(data.decode("utf-8").replace("\r\n", "\n")) if data is not None else Lock()
    except UnicodeDecodeError:
        raise LockError("it is not UTF-8.") from None


def item_folder(item: LockedItem) -> str:
    """The folder that contains the item's own file, relative to the project, with ``/``."""
    return item_path(item).rpartition("/")[0]


def item_path(item: LockedItem) -> str:
    """The item's own file."""
    kind = KINDS[item.kind]
    namespace, _, local_id = item.id.partition("/")
    place = f".ai/packages/{namespace}/{kind.folder}/{local_id}"
    return f"{place}/{kind.main_file}" if kind.main_file is not None else place + item.suffix


def item_files(item: LockedItem) -> dict[str, tuple[str, bool]]:
    """Map the path of each file of the item → (SHA-256, executable). Empty for an editable item."""
    if item.is_editable:
        return {}
    files = {item_path(item): (item.sha256, False)}
    if item.attached:
        folder = item_folder(item)
        files.update({f"{folder}/{entry.path}": (entry.sha256, entry.executable) for entry in item.attached})
    return files
