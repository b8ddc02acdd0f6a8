"""Reading the project's lock from disk."""

from __future__ import annotations

from rye.limits import PROJECT
from rye.project.layout import Project
from rye.project.lock import Lock, LockError, parse_lock
from rye.project.project_file import read_project_file


def read_lock(project: Project) -> Lock:
    """The project's lock; an empty one where there is none. Raises LockError."""
    data = read_project_file(project.lock_path, PROJECT.lock_bytes)
    try:
        return parse_lock(data.decode("utf-8").replace("\r\n", "\n")) if data is not None else Lock()
    except UnicodeDecodeError:
        raise LockError("it is not UTF-8.") from None
