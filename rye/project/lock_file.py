"""Reading the project's lock from disk."""

from __future__ import annotations

from rye.limits import PROJECT
from rye.project.layout import Project, read_project_file
from rye.project.lock import Lock, LockedItem, LockError, parse_lock


def read_lock(project: Project) -> Lock:
    """Return the project's lock; an empty one if the file does not exist. Raises LockError."""
    return _parsed(read_project_file(project.lock_path, PROJECT.lock_bytes))


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
