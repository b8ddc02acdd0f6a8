"""Which overrides files belong to an item (DESIGN §1 Customizations).

The files are ``overrides/<id>.overrides.md`` in the user's space, then in the project's. ``<id>`` is usually the qualified id of
an installed item, or the local id of a project's own item, but both ids are looked up for both. A local id in a file name means
the same as on the command line, so it applies to an installed item only if a lookup finds that item. If two kinds share an id,
``<id>.<kind>.overrides.md`` names the kind; ids contain no dots, so this name is unambiguous. Two files for one item at one level
are an error, since nothing says which one wins.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

from rye.customization.places import Folder, Places
from rye.customization.role_directives import Level
from rye.errors import RyeError
from rye.items.identity import Reference, is_id
from rye.items.kinds import KINDS
from rye.project.layout import Project
from rye.project.spaces import Entry, find
from rye.storage.home import Home

SUFFIX = ".overrides.md"


class OverrideSource(Struct, frozen=True):
    """One overrides file and its text, with the file's line endings and BOM."""

    level: Level
    path: Path
    shown: str
    text: str


class NamedFor(Struct, frozen=True):
    """The id in the name of an overrides file, and the kind if the name has one."""

    id: str
    kind: str | None


def named_for(folder: Folder, path: Path) -> NamedFor | None:
    """Parse the name of an overrides file; None if it does not contain a valid id."""
    stem = path.relative_to(folder.path).as_posix()[: -len(SUFFIX)]
    identifier, dot, kind = stem.rpartition(".")
    if dot and kind in KINDS.overridable() and is_id(identifier):
        return NamedFor(identifier, kind)
    return NamedFor(stem, None) if is_id(stem) else None


def file_for(folder: Folder, identifier: str, kind: str | None = None) -> Path:
    """The path of the overrides file for an id; with ``kind``, of the file for that kind only."""
    return folder.path / f"{identifier}{f'.{kind}' if kind else ''}{SUFFIX}"


def ids_of(entry: Entry) -> tuple[str, ...]:
    """The ids under which an item's overrides are looked up. The first one is used for new files."""
    local = entry.location.local_id
    ids = (entry.id, local) if entry.space == "installed" else (local, entry.id)
    return tuple(dict.fromkeys(ids))


def means(home: Home, identifier: str, entry: Entry, project: Project | None, namespace: str | None) -> bool:
    """Whether an id in a file name means this item: its qualified id does; its local id does if a lookup finds this item."""
    if identifier == entry.id:
        return True
    try:
        return find(home, Reference(identifier, entry.location.kind), project, namespace).path == entry.path
    except RyeError:
        return False


def paths_for(
    folder: Folder, kind: str, ids: Iterable[str], is_meant: Callable[[str], bool] = lambda _: True
) -> list[Path]:
    """The item's files at one level: those with the kind in their name; if there are none, those without."""
    valid = [identifier for identifier in ids if is_id(identifier)]
    for named in (kind, None):
        paths = [(identifier, file_for(folder, identifier, named)) for identifier in valid]
        found = [path for identifier, path in paths if os.path.lexists(path) and is_meant(identifier)]
        if found:
            return found
    return []


def sources(
    places: Places, kind: str, ids: Iterable[str], is_meant: Callable[[str], bool] = lambda _: True
) -> tuple[OverrideSource, ...]:
    """The overrides of an item, the user's first. Raises RyeError for an unreadable file, and for two files at one level."""
    if kind not in KINDS.overridable():
        return ()
    known = tuple(ids)
    sources_found: list[OverrideSource] = []
    for folder in places.overrides:
        paths = paths_for(folder, kind, known, is_meant)
        if len(paths) > 1:
            listed = " and ".join(folder.shown(path) for path in paths)
            raise RyeError("ambiguous-overrides", f"{listed} are for the same item.", "Keep one of them.")
        for path in paths:
            text = folder.text(path)
            if text is not None:
                sources_found.append(OverrideSource(folder.level, path, folder.shown(path), text))
    return tuple(sources_found)


def entry_sources(
    home: Home, places: Places, entry: Entry, project: Project | None, namespace: str | None
) -> tuple[OverrideSource, ...]:
    """Like :func:`sources`, for an item in a space."""
    return sources(
        places,
        entry.location.kind,
        ids_of(entry),
        lambda identifier: means(home, identifier, entry, project, namespace),
    )
