"""Which rollback state this user's rye wrote, so that one that came with a clone is not used (DESIGN 6.1)."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from rye.errors import RyeError
from rye.installation.rollback import kept_sha256, present_sha256
from rye.installation.transaction import Change
from rye.project.layout import Project
from rye.storage import private_files
from rye.storage.home import Home
from rye.workspace.trusting.acceptance import memory_of

_FOLDER = "previous"
_REMEMBERED = 2
"""The states to remember: the new one, and the one before it, which stays in place if the switch is interrupted."""


def remember_previous(home: Home, project: Project, kept: Sequence[Change]) -> None:
    """Record that this user's rye saves these files (:func:`~rye.installation.rollback.keep_previous`), before the write."""
    place, sha256 = memory_of(home, project, _FOLDER), kept_sha256(kept)
    known = [line for line in _read(place) if line != sha256]
    private_files.make_folder(place.parent)
    private_files.write(place, "\n".join([sha256, *known][:_REMEMBERED]) + "\n")


def require_own_previous(home: Home, project: Project) -> None:
    """Raise RyeError ``nothing-to-roll-back`` unless this user's rye wrote the saved state."""
    if present_sha256(project) in _read(memory_of(home, project, _FOLDER)):
        return
    raise RyeError(
        "nothing-to-roll-back",
        "Your rye did not write the earlier state in .ai/.rye/previous, so it may have come with the repository.",
        "Restore rye.toml and rye.lock from version control, then run `rye install`.",
    )


def _read(place: Path) -> list[str]:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return private_files.read_trusted(place).decode("ascii").split()
    return []
