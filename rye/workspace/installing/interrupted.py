"""An installation that a crash cut off."""

from __future__ import annotations

from pathlib import Path

from rye.installation.transaction import exclusive
from rye.project.layout import Project


def undo_interrupted(root: Path) -> None:
    """Bring the project in ``root`` back to what it was before an installation that a crash cut off.

    Where another run is in the middle of its switch, this waits for its end. Raises RyeError.
    """
    with exclusive(Project(root)):
        pass
