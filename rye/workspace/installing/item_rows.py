"""The items that a project can use, one row each, by space. Installed items come from the lock."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rye.project.context import load_manifest
from rye.project.layout import find_project
from rye.project.lock import Lock
from rye.project.lock_file import read_lock
from rye.project.manifest import Manifest
from rye.project.members import selected
from rye.project.spaces import SPACES as LOOKED_UP
from rye.project.spaces import entries_of
from rye.storage.home import Home

if TYPE_CHECKING:
    from rye.workspace.installing.rows_of_items import ItemRow

SPACES = LOOKED_UP
"""The spaces, in lookup order."""


def item_rows(
    home: Home, folder: Path, kind: str | None = None, space: str | None = None, member: str | None = None
) -> list[ItemRow]:
    """The usable items in ``folder``, by space, kind and id. ``member``: only items installed for this member of the
    workspace, by folder or name. Raises UsageError ``unknown-name``."""
    project = find_project(folder)
    manifest = load_manifest(project) if project is not None else Manifest()
    asking = selected(manifest, member)
    lock = read_lock(project) if project is not None else Lock()
    others = [name for name in SPACES if name != "installed" and space in (None, name)]  # installed: from the lock
    found = [
        entry
        for name in (others if member is None or project is None else ())
        for entry in entries_of(home, name, project, manifest.namespace)
        if kind in (None, entry.location.kind)
    ]
    is_asked = project is not None and space in (None, "installed")
    if not found and not (is_asked and lock.items):
        return []
    from rye.workspace.installing.rows_of_items import (
        installed_rows,
        needed_rows,
        own_row,
    )  # loads what verifies, hashes and rates, which a project without items never needs

    rows = installed_rows(home, project, lock, kind) if project is not None and is_asked else []
    if member is not None and project is not None:
        return sorted(needed_rows(rows, lock, asking), key=lambda row: (row.kind, row.id))
    rows.extend(own_row(entry, project, lock.items) for entry in found)
    return sorted(rows, key=lambda row: (SPACES.index(row.space), row.kind, row.id))
