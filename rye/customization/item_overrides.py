"""Which overrides files belong to an item (DESIGN §1 Customizations).

``overrides/<id>.overrides.md`` in the user's space, then in the project's. ``<id>`` is what the item is called: an installed
item's qualified id, a project's own item's local id; of either kind of item both ids are looked up. A local id in a file's name
means what it means on the command line, so it belongs to an installed item only where it finds that one. Where two kinds share
an id, ``<id>.<kind>.overrides.md`` says which is meant; ids hold no dots, so no other file can have that name. Two files for one
item at one level are an error: nothing says which should win.
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

SUFFIX = ".overrides.md"


class OverrideSource(Struct, frozen=True):
    """One overrides file and its text, with the line endings and BOM that it has."""

    level: Level
    path: Path
    shown: str
    text: str


class NamedFor(Struct, frozen=True):
    """What an overrides file's name says: the id, and the kind where it names one."""

    id: str
    kind: str | None


def named_for(folder: Folder, path: Path) -> NamedFor | None:
    """Read a file's name; None where it cannot be an item's."""
    stem = path.relative_to(folder.path).as_posix()[: -len(SUFFIX)]
    identifier, dot, kind = stem.rpartition(".")
    if dot and kind in KINDS.overridable() and is_id(identifier):
        return NamedFor(identifier, kind)
    return NamedFor(stem, None) if is_id(stem) else None


def file_for(folder: Folder, identifier: str, kind: str | None = None) -> Path:
    """Where the overrides of that id stand; with ``kind``, those of that kind alone."""
    return folder.path / f"{identifier}{f'.{kind}' if kind else ''}{SUFFIX}"


def ids_of(entry: Entry) -> tuple[str, ...]:
    """The id to write first, then the other one that is looked up."""
    local = entry.location.local_id
    ids = (entry.id, local) if entry.space == "installed" else (local, entry.id)
    return tuple(dict.fromkeys(ids))


def means(identifier: str, entry: Entry, project: Project | None, namespace: str | None) -> bool:
    """Whether an id in a file's name means this item: its qualified id does, its local id where a look-up finds it."""
    if identifier == entry.id:
        return True
    try:
        return find(Reference(identifier, entry.location.kind), project, namespace).path == entry.path
    except RyeError:
        return False


def paths_for(
    folder: Folder, kind: str, ids: Iterable[str], is_meant: Callable[[str], bool] = lambda _: True
) -> list[Path]:
    """The files at one level that belong to the item: those with the kind in their name, else those without."""
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
    """The overrides of an item, the user's first. Raises RyeError for a file that cannot be read, or two at one level."""
    if kind not in KINDS.overridable():
        return ()
    known = tuple(ids)
    found: list[OverrideSource] = []
    for folder in places.overrides:
        paths = paths_for(folder, kind, known, is_meant)
        if len(paths) > 1:
            listed = " and ".join(folder.shown(path) for path in paths)
            raise RyeError("ambiguous-overrides", f"{listed} are for the same item.", "Keep one of them.")
        for path in paths:
            text = folder.text(path)
            if text is not None:
                found.append(OverrideSource(folder.level, path, folder.shown(path), text))
    return tuple(found)


def entry_sources(
    places: Places, entry: Entry, project: Project | None, namespace: str | None
) -> tuple[OverrideSource, ...]:
    """As :func:`sources`, for an item in a space."""
    return sources(
        places, entry.location.kind, ids_of(entry), lambda identifier: means(identifier, entry, project, namespace)
    )
