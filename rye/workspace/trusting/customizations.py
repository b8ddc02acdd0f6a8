"""A project's changes to installed items: overrides, formula overlays and role directives (DESIGN 6.1).

They are part of the repository. The first acceptance of a project shows them and remembers their
hashes. Later, new or changed ones are reported, and ``rye trust project`` shows them. Customizations that a person
creates with rye's own commands count as seen. A user's own customizations, in their own space, are not affected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from rye.consent.ask import Ask
from rye.customization.item_overrides import SUFFIX, means, named_for
from rye.customization.places import DIRECTIVE_SUFFIX, OVERLAY_SUFFIX, Folder, rye_places
from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.items.location import locate
from rye.project.context import load_manifest
from rye.project.layout import Project
from rye.project.lock import LockedItem
from rye.project.lock_file import item_path, read_lock
from rye.project.spaces import Entry
from rye.storage.home import Home
from rye.workspace.trusting.acceptance import remember, remembered

Sort = Literal["override", "overlay", "role-directives"]


class Customization(Struct, frozen=True, order=True):
    """One file of the project that changes one installed item."""

    shown: str
    """The file, relative to the project."""
    item: str
    """``kind:id``."""
    sort: Sort
    sha256: str | None
    """The hash of its bytes; None if it cannot be read."""

    @property
    def approval(self) -> Ask:
        """The approval to store for it: these bytes, for this item."""
        said = f"sha256 {self.sha256[:32]}" if self.sha256 is not None else "cannot be read"
        return Ask(self.item, "customization", f"{self.shown} ({said})")


def customizations(
    home: Home, project: Project, namespace: str | None, items: Sequence[LockedItem]
) -> tuple[Customization, ...]:
    """The project's customizations of these items, sorted. ``namespace``: the project's own.

    Raises RyeError for more files than the limit.
    """
    if not items:
        return ()
    places = rye_places(home, project)
    changes: list[Customization] = []
    overrides = places.of(places.overrides, "project")
    if overrides is not None:
        changes.extend(_overrides(home, overrides, project, namespace, items))
    for folders, suffix, kind, sort in (
        (places.overlays, OVERLAY_SUFFIX, "formula", "overlay"),
        (places.role_directives, DIRECTIVE_SUFFIX, "role", "role-directives"),
    ):
        folder = places.of(folders, "project")
        if folder is not None:
            changes.extend(_by_name(folder, suffix, [item for item in items if item.kind == kind], sort))  # type: ignore[arg-type]
    return tuple(sorted(changes))


def _overrides(
    home: Home, folder: Folder, project: Project, namespace: str | None, items: Sequence[LockedItem]
) -> Iterator[Customization]:
    by_name: dict[str, list[LockedItem]] = {}
    for path in folder.files(SUFFIX, nested=True):
        if not by_name:
            for item in items:
                if item.kind in KINDS.overridable():
                    by_name.setdefault(item.id, []).append(item)
                    by_name.setdefault(item.identity.local_id, []).append(item)
        named = named_for(folder, path)
        for item in by_name.get(named.id, ()) if named is not None else ():
            if (
                named is not None
                and named.kind in (None, item.kind)
                and _is_meant(home, named.id, item, project, namespace)
            ):
                yield _customization(folder, path, item, "override")


def _is_meant(home: Home, identifier: str, item: LockedItem, project: Project, namespace: str | None) -> bool:
    if identifier == item.id:
        return True
    path = project.root / item_path(item)
    location = locate(path)
    return location is not None and means(
        home, identifier, Entry("installed", path, location, location.namespace), project, namespace
    )


def _by_name(folder: Folder, suffix: str, items: Sequence[LockedItem], sort: Sort) -> Iterator[Customization]:
    """Customizations from files named like an item's local id."""
    for path in folder.files(suffix) if items else ():
        name = path.name.removesuffix(suffix)
        yield from (_customization(folder, path, item, sort) for item in items if item.identity.local_id == name)


def _customization(folder: Folder, path: Path, item: LockedItem, sort: Sort) -> Customization:
    try:
        data = folder.read(path)
    except RyeError:
        data = None
    return Customization(
        folder.shown(path), str(item.identity), sort, sha256(data).hexdigest() if data is not None else None
    )


def remember_made_here(
    home: Home, project: Project | None, path: Path, before: bytes | None, *, was_shown: bool = False
) -> None:
    """Remember as seen a customization that this user created or changed with rye.

    ``before``: its earlier bytes; None: a new file. If the user had not seen the earlier bytes, a change does not make the
    file count as seen, unless ``was_shown``: the user saw the whole text.
    """
    if project is None or not project.lock_path.exists():
        return
    namespace = load_manifest(project).namespace
    made = path.resolve()
    mine = [
        one
        for one in customizations(home, project, namespace, read_lock(project).items)
        if (project.root / one.shown).resolve() == made
    ]
    if not was_shown and before is not None:
        digest = sha256(before).hexdigest()
        earlier = {replace(one, sha256=digest).approval: one for one in mine}
        new = set(remembered(home, project).missing(earlier))
        mine = [one for approval, one in earlier.items() if approval not in new]
    if mine:
        remember(home, project, [one.approval for one in mine])
