"""A project's changes to items: overrides, formula overlays and role directives (DESIGN 6.1).

They are part of the repository, so anyone who can commit can write one, and it changes what an agent is told as much as the
item itself does. Each counts on this machine once this user agreed to its exact bytes for that item, whether the item was
installed or is one's own: a signature covers the item's file, and nothing covers what replaces it. One that the user agreed to
and that is not there any more is asked about in the same way, since without it the item says what it said before. A customization
that a person makes or removes with rye's own commands counts as agreed to. A user's own customizations, in their own space, need
no agreement.

:func:`changes_of` says which files change one item, and everything else that asks goes through it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rye.consent.agreement import Agreement
from rye.consent.customized import Customization, Lost, ShownChange, Sort, agreed_files, agreed_own
from rye.customization.item_overrides import (
    FILES_SUFFIX,
    SUFFIX,
    OverrideSource,
    file_paths_for,
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

_OF_KIND: dict[str, tuple[Sort, str]] = {
    "formula": ("overlay", OVERLAY_SUFFIX),
    "role": ("role-directives", DIRECTIVE_SUFFIX),
}
"""What changes items of a kind, besides overrides: one file, named like the item."""


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


def changed_by(entry: Entry, sort: Sort, shown: str, data: bytes | None, *contents: bytes) -> Customization:
    """The customization of an item by a file with these bytes. ``data``: None if it cannot be read. ``contents``: what belongs to
    it, of which ``data`` has the hashes."""
    digest, kept = (sha256(data).hexdigest(), (data, *contents)) if data is not None else (None, ())
    return _change(entry, sort, shown, sha256=digest, kept=kept)


def _change(entry: Entry, sort: Sort, shown: str, **state: Any) -> Customization:
    return Customization(shown=shown, item=_name(entry), sort=sort, own=entry.space == "project", **state)


def changed_by_override(entry: Entry, source: OverrideSource) -> Customization:
    """The same by an overrides file that was read."""
    contents = source.contents.files.values() if source.contents is not None else ()
    return changed_by(entry, "override", source.shown, source.evidence, *contents)


def changes_of(places: Places, entry: Entry, spaces: Spaces, agreed: Agreement) -> tuple[Customization, ...]:
    """The project's customizations of one item, sorted, with those that this user agreed to and that count no longer."""
    changes: list[Customization] = []
    kind = entry.location.kind
    folder = places.of(places.overrides, "project")
    if folder is not None and kind in KINDS.overridable():

        def meant(name: str) -> bool:
            return means(spaces, name, entry)

        ids = ids_of(entry)
        paths = [*paths_for(folder, kind, ids, meant), *file_paths_for(folder, kind, ids, meant)]
        changes += (_override_at(folder, path, entry) for path in paths)
    changes += _beside(places, entry, _read)
    return tuple(sorted([*changes, *lost_changes(entry, spaces, agreed, (one.shown for one in changes))]))


def agreed_states(entry: Entry, spaces: Spaces, agreed: Agreement) -> dict[str, str]:
    """The files of the project to whose bytes this user agreed for an item, each with the state that they agreed to last
    (:func:`rye.consent.customized.agreed_files`).

    The namespace of the project's own items is a line of rye.toml. So an own item has what was agreed to for it under another
    namespace, whatever has that name now. Of an agreement that does not say whether the item was an own one, it has nothing if
    another item has that name now.
    """
    every = agreed_files(agreed.lines)
    states = dict(every.get(_name(entry), {}))
    if entry.space == "project" and every:
        kind, local = entry.location.kind, entry.location.local_id
        for name, files in every.items():
            namespace = _namespace_of(name, kind, local) if name.endswith(local) else None
            if namespace in (None, entry.namespace or ""):
                continue
            mine = agreed_own(agreed.lines, name) if _is_there(spaces, name) else files.keys()
            states = {**{shown: files[shown] for shown in files if shown in mine}, **states}
    return states


def _namespace_of(name: str, kind: str, local_id: str) -> str | None:
    """The namespace under which a name, which ends with a local id, is of it; empty for none; None if it names something else."""
    kind_of, _, namespace = name.removesuffix(local_id).partition(":")
    is_one = not namespace or (namespace.endswith("/") and namespace.count("/") == 1)
    return namespace.removesuffix("/") if kind_of == kind and is_one else None


def _is_there(spaces: Spaces, name: str) -> bool:
    return any(_name(one) == name for one in spaces.every())


def lost_changes(entry: Entry, spaces: Spaces, agreed: Agreement, present: Iterable[str]) -> Iterator[Customization]:
    """The customizations of an item that this user agreed to and that are none any more. ``present``: the files of those that
    are. None of an item that is not there: it is about to be installed, and no id in a file's name means it before."""
    states = agreed_states(entry, spaces, agreed)
    if not states or spaces.project is None or not (entry.editable or os.path.lexists(entry.path)):
        return
    for shown in sorted(states.keys() - set(present)):
        beside = _OF_KIND.get(entry.location.kind)
        sort = "override" if beside is None or shown.endswith((SUFFIX, FILES_SUFFIX)) else beside[0]
        lost: Lost = "no longer counts" if os.path.lexists(spaces.project.root / shown) else "is gone"
        yield _change(entry, sort, shown, sha256=None, lost=lost)


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
    home: Home,
    project: Project,
    namespace: str | None,
    rows: Sequence[LockedItem],
    agreed: Agreement,
    *,
    own: bool = True,
) -> list[CustomizedItem]:
    """The items that the project changes, or changed when this user agreed to it: those of ``rows`` and, with ``own``, those that
    are not installed. ``namespace``: the project's own.

    Raises RyeError for more files than the limit.
    """
    places = rye_places(home, project)
    named = _named(places, agreed)
    if not named:
        return []
    candidates: list[tuple[Entry, LockedItem | None]] = []
    for row in rows:
        path = project.root / item_path(row)
        location = locate(path)
        if location is not None:
            entry = Entry("installed", path, location, row.identity.namespace, editable=row.is_editable)
            candidates.append((entry, row))
    spaces = Spaces(home, project, namespace)
    for space in ("project", "user", "system") if own else ():
        candidates += ((entry, None) for entry in spaces.entries_of(space))
    found = []
    for entry, of in candidates:
        if named.isdisjoint(name.lower() for name in (entry.id, entry.location.local_id, entry.location.name)):
            continue
        changes = changes_of(places, entry, spaces, agreed)
        if changes:
            found.append(CustomizedItem(entry, of, changes, spaces))
    return found


def _named(places: Places, agreed: Agreement) -> set[str]:
    """The ids and names that the project's customizations are for, with those that were agreed to, in lower case: some file
    systems know no other."""
    names: set[str] = set()
    for name in agreed_files(agreed.lines):
        identifier = name.partition(":")[2].lower()
        names |= {identifier, identifier.partition("/")[2]}
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


def _override_at(folder: Folder, path: Path, entry: Entry) -> Customization:
    try:
        source = source_at(folder, path)
    except RyeError:
        source = None
    if source is None:
        return changed_by(entry, "override", folder.shown(path), None)
    return changed_by_override(entry, source)


def _read(folder: Folder, path: Path) -> bytes | None:
    try:
        return folder.read(path)
    except RyeError:
        return None


def remember_made_here(
    home: Home,
    project: Project | None,
    path: Path,
    before: bytes | None,
    after: bytes | None,
    *contents: bytes,
    was_shown: bool = False,
) -> None:
    """Remember as agreed to a customization that this user created, changed or removed with rye.

    ``before``: its earlier bytes; None: a new file. ``after``: those that rye wrote, whatever is there by now; None: rye removed
    the file. Of overrides of attached files, both are the evidence
    (:attr:`rye.customization.item_overrides.OverrideSource.evidence`), and ``contents`` what rye wrote beside the file. If the
    user had not agreed to the earlier bytes, a change does not make the file count, unless ``was_shown``: the user saw the whole
    text. Nor does a new file in place of one that the user agreed to, if they did not agree to its being gone.
    """
    if project is None:
        return
    namespace = load_manifest(project).namespace
    rows = read_lock(project).items if project.lock_path.exists() else ()
    made, agreed = path.resolve(), remembered(home, project)

    def with_bytes(one: Customization, data: bytes, *more: bytes) -> Customization:
        return replace(one, sha256=sha256(data).hexdigest(), lost="", kept=(data, *more))

    mine = [
        one
        for item in customized_items(home, project, namespace, rows, agreed)
        for one in item.changes
        if (project.root / one.shown).resolve() == made and (after is not None or one.lost)
    ]
    if before is None:
        known = agreed_files(agreed.lines)
        gone = {one: replace(one, sha256=None, lost="is gone", kept=()) for one in mine}
        mine = [one for one in mine if one.shown not in known.get(one.item, ()) or agreed.covers(gone[one].approval)]
    elif not was_shown:
        mine = [one for one in mine if agreed.covers(with_bytes(one, before).approval)]
    if after is not None:
        mine = [with_bytes(one, after, *contents) for one in mine]
    if mine:
        remember(home, project, [replace(one.approval, subject=ShownChange(one)) for one in mine])
