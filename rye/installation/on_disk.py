"""What is really in ``.ai/packages``, against the lock: missing, changed and extra files.

Every byte is hashed; nothing is believed because of a time or a size. A link, or a file that the lock does not name, counts:
agent tools read whatever lies there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rye.installation.placement import item_files
from rye.project.layout import Project
from rye.project.lock import LockedItem

State = Literal["missing", "changed", "extra"]


@dataclass(frozen=True, slots=True)
class Drift:
    """One file that is not as the lock has it."""

    path: str
    """Relative to the project, with ``/``."""
    state: State
    item: LockedItem | None
    """None for an extra file."""


def find_drift(project: Project, items: Iterable[LockedItem]) -> list[Drift]:
    """Every difference between the disk and these items, sorted by path."""
    expected = {path: (item, sha256) for item in items for path, (sha256, _) in item_files(item).items()}
    found = []
    for path, (item, sha256) in expected.items():
        state = _state(project.root / path, sha256)
        if state is not None:
            found.append(Drift(path, state, item))
    found.extend(Drift(path, "extra", None) for path in _files(project) if path not in expected)
    return sorted(found, key=lambda drift: drift.path)


def _state(path: Path, sha256: str) -> State | None:
    try:
        if path.is_symlink() or not path.is_file():
            return "changed" if os.path.lexists(path) else "missing"
        return None if hashlib.sha256(path.read_bytes()).hexdigest() == sha256 else "changed"
    except OSError:
        return "changed"


def _files(project: Project) -> Iterable[str]:
    for folder, folders, files in os.walk(project.packages, followlinks=False):
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in (*files, *links):
            yield (Path(folder) / name).relative_to(project.root).as_posix()
