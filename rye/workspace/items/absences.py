"""The items that texts here name and that are not here: one answer for ``validate``, ``publish``, ``deploy``, ``audit``
and ``check`` (docs/reference/kinds.md, What a text names). ``add``, ``install`` and ``update`` ask the same of what they have
verified (:meth:`rye.workspace.installing.install_session.InstallSession.look_for_absent`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.items.named import AbsentItem, ItemNames
from rye.project.context import load_manifest
from rye.project.layout import Project
from rye.project.lock_file import Locks, read_lock
from rye.project.spaces import Spaces, entries
from rye.workspace.items.effective_item import effective_entry

if TYPE_CHECKING:
    from rye.project.lock import LockedItem
    from rye.workspace.context import Context


class AbsentFrom(Struct, frozen=True):
    """One installed item that names one that is not here."""

    item: LockedItem
    shown: str
    absent: AbsentItem

    @property
    def message(self) -> str:
        """One sentence."""
        return f"{self.item.identity} {self.item.version} {self.absent.message}"


def present_items(context: Context, project: Project) -> ItemNames:
    """What look-ups in the project find, in all four spaces, with every row of rye.lock: a locked item whose file is missing
    is what ``rye install`` brings. Files are not read. Raises RyeError if rye.toml or rye.lock cannot be read."""
    manifest = load_manifest(project)
    named = [
        (entry.location.kind, entry.id, entry.location.local_id)
        for _, present in entries(context.home, project, manifest.namespace)
        for entry in present
    ]
    rows = read_lock(project).items if project.lock_path.exists() else ()
    named += [(row.kind, row.id, row.identity.local_id) for row in rows]
    return ItemNames(named, manifest.provides)


def absent_from_installed(context: Context, project: Project) -> Iterator[AbsentFrom]:
    """What the installed items name, in the texts that are used, and what is not here.

    An item that cannot be used is skipped, because it names nothing then: other findings say why. Nothing is fetched.
    """
    locks = Locks()
    rows = {(row.kind, row.id): row for row in locks.rows(project).values() if KINDS[row.kind].names_items}
    if not rows:
        return
    manifest, present = load_manifest(project), present_items(context, project)
    spaces = Spaces(context.home, project, manifest.namespace)
    for entry in spaces.entries_of("installed"):
        row = rows.get((entry.location.kind, entry.id))
        if row is None:
            continue
        try:
            found = effective_entry(context, entry, project, manifest, locks, spaces=spaces)
        except RyeError:
            continue
        metadata = found.item.reading.metadata
        for absent in present.lacks(metadata.names if metadata is not None else ()):
            yield AbsentFrom(row, found.item.shown, absent.within(row.identity.namespace))


def warn_of_absent(context: Context, project: Project) -> None:
    """Warn of what the installed items name and what is not here, after a deployment."""
    for one in absent_from_installed(context, project):
        context.warn(one.message, one.absent.hint)
