"""What each command does first: undo an installation that a crash interrupted, and look for deprecated keys in rye.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from rye.errors import RyeError
from rye.installation.transaction import exclusive
from rye.limits import PROJECT
from rye.project.layout import Project, find_project, read_project_file
from rye.project.ownership import refuse_foreign


def undo_interrupted(root: Path) -> None:
    """Restore the project in ``root`` to its state before an interrupted installation.

    If another run is switching, waits until it ends. Raises RyeError, also for another user's project, whose
    journal would otherwise write files as this user.
    """
    refuse_foreign(root)
    with exclusive(Project(root)):
        pass


def manifest_keys(cwd: Path) -> Mapping[str, object]:
    """The tables of the rye.toml at or above a folder; empty if it is missing or invalid, which the command itself reports."""
    try:
        project = find_project(cwd)
        data = read_project_file(project.manifest_path, PROJECT.manifest_bytes) if project is not None else None
        return tomllib.loads((data or b"").decode("utf-8-sig"))
    except (RyeError, ValueError, RecursionError):
        return {}
