"""A project's changes to items: overrides, formula overlays and role directives (DESIGN 6.1).

They are part of the repository, so anyone who can commit can write one, and it changes what an agent is told as much as the
item itself does. Each counts on this machine once this user agreed to its exact bytes for that item, whether the item was
installed or is one's own: a signature covers the item's file, and nothing covers what replaces it. A customization that a
person makes with rye's own commands counts as agreed to. A user's own customizations, in their own space, need no agreement.

:func:`changes_of` says which files change one item, and everything else that asks goes through it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from rye.consent.ask import Ask
from rye.customization.item_overrides import (
    FILES_SUFFIX,
    SUFFIX,
    OverrideSource,
    file_paths_for,
    hidden_paths_for,
    ids_of,
    means,
    override_files,
    paths_for,
    source_at,
)
from rye.customization.places import DIRECTIVE_SUFFIX, OVERLAY_SUFFIX, Folder, Places, rye_places
from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.items.location import locate
from rye.project.context import load_manifest
from rye.project.layout import Project
from rye.project.lock import LockedItem
from rye.project.lock_file import item_path, read_lock
from rye.project.spaces import Entry, Spaces
from rye.storage.home import Home
from rye.workspace.trusting.acceptance import remember, remembered

Sort = Literal["override", "overlay", "role-directives"]
_OF_KIND: dict[str, tuple[Sort, str]] = {
    "formula": ("overlay", OVERLAY_SUFFIX),
    "role": ("role-directives", DIRECTIVE_SUFFIX),
}
"""What changes items of a kind, besides overrides: one file, named like the item."""


class Customization(Struct, frozen=True, order=True):
    """One file of the project that changes one item."""

    shown: str
    """The file, relative to the project."""
    item: str
    """``kind:id``."""
    sort: Sort
    sha256: str | None
    """The hash of its bytes, and of the contents that belong to it; None if it cannot be read."""

    @property
    def approval(self) -> Ask:
        """The approval to store for it: these bytes, for this item."""
        said = f"sha256 {self.sha256[:32]}" if self.sha256 is not None else "cannot be read"
        return Ask(self.item, "customization", f"{self.shown} ({said})")


class ShownChange(Struct, frozen=True):
    """What a customization changes, for the question about it: the subject of its :class:`~rye.consent.ask.Ask`."""

    lines: tuple[str, ...]
    """Of a unified difference from the text that it replaces, without line ends."""
    command: str
    """Shows all of it."""
    replaces: tuple[str, ...] = ()
    """The project's files that the user agreed to and that no longer count, because this one names the item's kind."""


class CustomizedItem(Struct, frozen=True):
    """An item and the files of the project that change it, at least one."""

    entry: Entry
    row: LockedItem | None
    """Its row of rye.lock; None for an item that is not installed."""
    changes: tuple[Customization, ...]
    spaces: Spaces
    """Where the ids in the names of its overrides are looked up."""

    @property
    def name(self) -> str:
        """``kind:id``."""
        return _name(self.entry)


def changed_by(entry: Entry, sort: Sort, shown: str, data: bytes | None) -> Customization:
    """The customization of an item by a file with these bytes. ``data``: None if it cannot be read."""
    return Customization(shown, _name(entry), sort, sha256(data).hexdigest() if data is not None else None)


def changes_of(places: Places, entry: Entry, spaces: Spaces) -> tuple[Customization, ...]:
    """The project's customizations of one item, sorted."""
    changes: list[Customization] = []
    kind = entry.location.kind
    folder = places.of(places.overrides, "project")
    if folder is not None and kind in KINDS.overridable():

        def meant(name: str) -> bool:
            return means(spaces, name, entry)

        ids = ids_of(entry)
        paths = [*paths_for(folder, kind, ids, meant), *file_paths_for(folder, kind, ids, meant)]
        changes += (changed_by(entry, "override", folder.shown(path), _evidence(folder, path)) for path in paths)
    return tuple(sorted([*changes, *_beside(places, entry, _read)]))


def hidden_overrides(home: Home, project: Project, entry: Entry, spaces: Spaces) -> tuple[OverrideSource, ...]:
    """The project's overrides of an item that this user agreed to, and that no longer count, because another file names the
    item's kind. One that cannot be read has no effect anyway."""
    places = rye_places(home, project)
    folder = places.of(places.overrides, "project")
    if folder is None or entry.location.kind not in KINDS.overridable():
        return ()
    paths = hidden_paths_for(folder, entry.location.kind, ids_of(entry), lambda name: means(spaces, name, entry))
    if not paths:
        return ()
    agreed, hidden = remembered(home, project), list[OverrideSource]()
    for path in paths:
        try:
            source = source_at(folder, path)
        except RyeError:
            continue
        if source is not None and agreed.covers(changed_by(entry, "override", source.shown, source.evidence).approval):
            hidden.append(source)
    return tuple(hidden)


def changes_beside(home: Home, project: Project, entry: Entry) -> tuple[Customization, ...]:
    """Those that are not overrides. Raises RyeError for a file that cannot be read."""
    return tuple(_beside(rye_places(home, project), entry, Folder.read))


def _beside(places: Places, entry: Entry, read: Callable[[Folder, Path], bytes | None]) -> Iterator[Customization]:
    if entry.location.kind not in _OF_KIND:
        return
    sort, suffix = _OF_KIND[entry.location.kind]
    folder = places.of(places.overlays if sort == "overlay" else places.role_directives, "project")
    path = folder.file(entry.location.name, suffix) if folder is not None else None
    if folder is not None and path is not None and os.path.lexists(path):
        yield changed_by(entry, sort, folder.shown(path), read(folder, path))


def customized_items(
    home: Home, project: Project, namespace: str | None, rows: Sequence[LockedItem], *, own: bool = True
) -> list[CustomizedItem]:
    """The items that the project changes: those of ``rows`` and, with ``own``, those that are not installed. ``namespace``: the
    project's own.

    Raises RyeError for more files than the limit.
    """
    places = rye_places(home, project)
    named = _named(places)
    if not named:
        return []
    candidates: list[tuple[Entry, LockedItem | None]] = []
    for row in rows:
        path = project.root / item_path(row)
        location = locate(path)
        if location is not None:
            candidates.append((Entry("installed", path, location, row.identity.namespace), row))
    spaces = Spaces(home, project, namespace)
    for space in ("project", "user", "system") if own else ():
        candidates += ((entry, None) for entry in spaces.entries_of(space))
    found = []
    for entry, of in candidates:
        if named.isdisjoint(name.lower() for name in (entry.id, entry.location.local_id, entry.location.name)):
            continue
        changes = changes_of(places, entry, spaces)
        if changes:
            found.append(CustomizedItem(entry, of, changes, spaces))
    return found


def _named(places: Places) -> set[str]:
    """The ids and names that the project's customizations are for, in lower case: some file systems know no other."""
    names: set[str] = set()
    overrides = places.of(places.overrides, "project")
    for path in override_files(overrides) if overrides is not None else ():
        stem = path.relative_to(overrides.path).as_posix().lower() if overrides is not None else ""
        stem = stem.removesuffix(FILES_SUFFIX).removesuffix(SUFFIX)
        names |= {stem, stem.rpartition(".")[0]}
    for folders, suffix in ((places.overlays, OVERLAY_SUFFIX), (places.role_directives, DIRECTIVE_SUFFIX)):
        folder = places.of(folders, "project")
        names |= {path.name[: -len(suffix)].lower() for path in (folder.files(suffix) if folder is not None else ())}
    return names - {""}


def _name(entry: Entry) -> str:
    return f"{entry.location.kind}:{entry.id}"


def _evidence(folder: Folder, path: Path) -> bytes | None:
    """What a yes to an overrides file is for; None if it cannot be read."""
    try:
        source = source_at(folder, path)
    except RyeError:
        return None
    return source.evidence if source is not None else None


def _read(folder: Folder, path: Path) -> bytes | None:
    try:
        return folder.read(path)
    except RyeError:
        return None


def remember_made_here(
    home: Home, project: Project | None, path: Path, before: bytes | None, after: bytes, *, was_shown: bool = False
) -> None:
    """Remember as agreed to a customization that this user created or changed with rye.

    ``before``: its earlier bytes; None: a new file. ``after``: those that rye wrote, whatever is there by now. Of overrides of
    attached files, both are the evidence (:attr:`rye.customization.item_overrides.OverrideSource.evidence`). If the user had
    not agreed to the earlier bytes, a change does not make the file count, unless ``was_shown``: the user saw the whole text.
    """
    if project is None:
        return
    namespace = load_manifest(project).namespace
    rows = read_lock(project).items if project.lock_path.exists() else ()
    made = path.resolve()
    digest = sha256(after).hexdigest()
    mine = [
        replace(one, sha256=digest)
        for item in customized_items(home, project, namespace, rows)
        for one in item.changes
        if (project.root / one.shown).resolve() == made
    ]
    if not was_shown and before is not None:
        old = sha256(before).hexdigest()
        earlier = {replace(one, sha256=old).approval: one for one in mine}
        new = set(remembered(home, project).missing(earlier))
        mine = [one for approval, one in earlier.items() if approval not in new]
    if mine:
        remember(home, project, [one.approval for one in mine])
