"""Who owns the files that make a folder a project. Uses only ``os``, since completion asks this at each press of a key."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

MARKERS = ("rye.toml", "rye.lock", ".ai")
"""The files and folders that make a project."""
VARIABLE = "RYE_SAFE_PROJECTS"
"""Names the folders of other users' projects that may be used, joined by ``os.pathsep``."""
_ROOT = 0


def foreign_marker(root: str, look: Callable[..., os.stat_result] = os.stat) -> tuple[str, int] | None:
    """The first of the :data:`MARKERS` in ``root`` that belongs to another user, and that user's id. None if there is none or
    if :data:`VARIABLE` names ``root``. Missing ones are skipped. ``look``: ``os.stat``, or a test's own.
    """
    if not hasattr(os, "geteuid"):  # Windows: a file's owner is no number there
        return None
    ours = trusted_owners(os.geteuid(), os.environ)
    for name in MARKERS:
        owner = _foreign_owner(os.path.join(root, name), ours, look)
        if owner is not None and root not in safe_projects(os.environ):
            return name, owner
    return None


def trusted_owners(user: int, environment: Mapping[str, str]) -> frozenset[int]:
    """The user ids whose files may make a project for ``user``."""
    caller = environment.get("SUDO_UID", "")
    called_by = {int(caller)} if user == _ROOT and caller.isascii() and caller.isdigit() else set()
    return frozenset({user, _ROOT} | called_by)


def safe_projects(environment: Mapping[str, str]) -> frozenset[str]:
    """The folders that :data:`VARIABLE` names. A slash at the end makes no difference. Relative and empty entries name nothing,
    since they would mean another folder everywhere."""
    entries = environment.get(VARIABLE, "").split(os.pathsep)
    return frozenset(entry.rstrip("/") or entry for entry in entries if os.path.isabs(entry))


def _foreign_owner(path: str, ours: frozenset[int], look: Callable[..., os.stat_result]) -> int | None:
    for follow in (False, True):
        try:
            owner = look(path, follow_symlinks=follow).st_uid
        except OSError:
            return None
        if owner not in ours:
            return owner
    return None
