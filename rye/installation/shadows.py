"""The project's own items that have the id of an installed item, and so would be used in its place (DESIGN 6.1).

The project's own items are looked up first, and anyone who can commit can add one. An id in rye.lock means the
installed item, so an own item with that id is an error in every lookup and never a silent replacement. ``-`` and ``_``
are the same character, as in all lookups. A short name (``work/top`` for ``acme/work/top``) is not an installed item's
id, so the project's own item takes precedence there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError
from rye.items.identity import lookup_key
from rye.items.kinds import KINDS
from rye.project.layout import Project
from rye.project.lock import LockedItem
from rye.project.lock_file import item_path
from rye.project.spaces import Entry, entries
from rye.storage.home import Home

CODE = "shadows-installed"


class Shadow(Struct, frozen=True):
    """One of the project's own items, and the installed item with the same id."""

    own: str
    """The own item's file, relative to the project if it is in the project."""
    item: LockedItem

    @property
    def message(self) -> str:
        """The problem, naming both files."""
        return (
            f"{self.own} has the id of the installed {self.item.identity} {self.item.version} "
            f"({item_path(self.item)}), and would be used in its place."
        )

    @property
    def hint(self) -> str:
        """How to fix it."""
        kind = KINDS[self.item.identity.kind]
        return f"Rename or remove {self.own}. To change the installed item: `{kind.change_command(self.item.id)}`."

    def error(self) -> RyeError:
        """The error to raise when the item is looked up."""
        return RyeError(
            CODE,
            self.message,
            self.hint,
            details={"own": self.own, "installed": item_path(self.item), "item": str(self.item.identity)},
        )


def shadow_of(entry: Entry, items: Iterable[LockedItem], root: Path) -> Shadow | None:
    """Return the shadow if this is an item of the project's own with the id of a locked one. ``root``: the project's folder."""
    if entry.space != "project":
        return None
    names = {lookup_key(entry.id), lookup_key(entry.location.local_id)}
    for item in items:
        if item.kind == entry.location.kind and lookup_key(item.id) in names:
            return Shadow(_shown(entry.path, root), item)
    return None


def shadows(own: Iterable[Entry], items: Iterable[LockedItem], root: Path) -> list[Shadow]:
    """Return a shadow for each own item with the id of a locked one, sorted by file. Takes linear time."""
    locked: Mapping[tuple[str, str], LockedItem] = {(item.kind, lookup_key(item.id)): item for item in items}
    hiding = []
    for entry in own:
        names = (entry.id, entry.location.local_id)
        keys = ((entry.location.kind, lookup_key(name)) for name in names)
        item = next((locked[key] for key in keys if key in locked), None)
        if item is not None:
            hiding.append(Shadow(_shown(entry.path, root), item))
    return sorted(hiding, key=lambda shadow: shadow.own)


def project_shadows(home: Home, project: Project, namespace: str | None, items: Sequence[LockedItem]) -> list[Shadow]:
    """Return the same as :func:`shadows` for the items on disk. ``namespace``: the project's own. Reads names, not content."""
    if not items:
        return []
    _, own = next(iter(entries(home, project, namespace)))
    return shadows(own, items, project.root)


def shadows_error(found: list[Shadow]) -> RyeError:
    """Return one error that lists all shadows."""
    first = found[0]
    if len(found) == 1:
        return first.error()
    listed = "\n".join(f"  {shadow.own}: {item_path(shadow.item)} ({shadow.item.identity})" for shadow in found)
    return RyeError(
        CODE,
        f"{len(found)} items of this project have ids of installed ones, and would be used in their place:\n{listed}",
        first.hint,
        details={
            "shadows": [
                {"own": shadow.own, "installed": item_path(shadow.item), "item": str(shadow.item.identity)}
                for shadow in found
            ]
        },
    )


def _shown(path: Path, root: Path) -> str:
    return os.path.relpath(path, root) if path.is_relative_to(root) else str(path)
