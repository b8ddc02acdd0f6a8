"""Undoing an installation that a crash interrupted."""

from __future__ import annotations

from pathlib import Path

from rye.installation.transaction import exclusive
from rye.project.layout import Project
from rye.project.ownership import refuse_foreign


def undo_interrupted(root: Path) -> None:
    """Restore the project in ``root`` to its state before an interrupted installation.

    If another run is switching, waits until it ends. Raises RyeError, also for another user's project, whose
    journal would otherwise write files as this user.
    """
    refuse_foreign(root)
    with exclusive(Project(root)):
        pass
