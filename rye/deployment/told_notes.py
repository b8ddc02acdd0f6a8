"""Which notes about deployed items this user's Rye has said, so that each is said once ("Claude Code has no setting for …").

They are in the user's data folder, by the root's real path: nothing that comes with a repository can make a note count as said.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path

from rye.deployment.survey import Note
from rye.project.layout import Project
from rye.storage import private_files
from rye.storage.home import Home
from rye.workspace.trusting.acceptance import own_record

_FOLDER = "told"


def new_notes(home: Home, root: Project, notes: Iterable[Note]) -> tuple[Note, ...]:
    """Return the notes that were not said yet."""
    known = _read(own_record(home, root, _FOLDER))
    return tuple(note for note in notes if _line(note) not in known)


def remember_told(home: Home, root: Project, said: Iterable[Note], present: Iterable[Note]) -> None:
    """Remember that these notes were said, and forget those that are no longer ``present``. On a full disk they are only said
    again."""
    place = own_record(home, root, _FOLDER)
    known = _read(place)
    lines = (known & set(map(_line, present))) | set(map(_line, said))
    if lines == known:
        return
    with contextlib.suppress(OSError):
        private_files.make_folder(place.parent)
        private_files.write(place, "".join(f"{line}\n" for line in sorted(lines)))


def _line(note: Note) -> str:
    return json.dumps([note.item, note.target, note.message])


def _read(place: Path) -> frozenset[str]:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return frozenset(private_files.read_trusted(place).decode("utf-8").splitlines())
    return frozenset()
