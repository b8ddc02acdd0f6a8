"""Reading the project's lock from disk."""

from __future__ import annotations

from rye.project.layout import Project
from rye.project.lock import Lock, LockError, parse_lock


def read_lock(project: Project) -> Lock:
    """The project's lock; an empty one where there is none. Raises LockError."""
    try:
        return parse_lock(project.lock_path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Lock()
    except UnicodeDecodeError:
        raise LockError("it is not UTF-8.") from None
