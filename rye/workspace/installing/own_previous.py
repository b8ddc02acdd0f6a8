"""Which rollback state this user's rye kept, so that one that came with a clone is not used (DESIGN 6.1)."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from rye.errors import RyeError
from rye.installation.rollback import kept_sha256, present_sha256
from rye.installation.transaction import Change
from rye.project.layout import Project
from rye.storage import private_files
from rye.workspace.trusting.acceptance import memory_of

_FOLDER = "previous"
_REMEMBERED = 2
"""The state that is being kept, and the one before it, which still stands when the switch to the new one is interrupted."""


def remember_previous(project: Project, kept: Sequence[Change]) -> None:
    """Note that this user's rye keeps these files (:func:`~rye.installation.rollback.keep_previous`), before they are written."""
    place, sha256 = memory_of(project, _FOLDER), kept_sha256(kept)
    known = [line for line in _read(place) if line != sha256]
    private_files.make_folder(place.parent)
    private_files.write(place, "\n".join([sha256, *known][:_REMEMBERED]) + "\n")


def require_own_previous(project: Project) -> None:
    """Raises RyeError ``nothing-to-roll-back`` where the kept state is not one that this user's rye kept here."""
    if present_sha256(project) in _read(memory_of(project, _FOLDER)):
        return
    raise RyeError(
        "nothing-to-roll-back",
        "The earlier state in .ai/.rye/previous was not kept by your rye, so it may have come with the repository.",
        "Restore rye.toml and rye.lock from version control, then run `rye install`.",
    )


def _read(place: Path) -> list[str]:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return private_files.read_trusted(place).decode("ascii").split()
    return []
