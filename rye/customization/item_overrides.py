"""Which overrides files belong to an item (DESIGN §1 Customizations).

The files are ``overrides/<id>.overrides.md`` in the user's space, then in the project's. ``<id>`` is usually the qualified id of
an installed item, or the local id of a project's own item, but both ids are looked up for both. A local id in a file name means
the same as on the command line, so it applies to an installed item only if a lookup finds that item. If two kinds share an id,
``<id>.<kind>.overrides.md`` names the kind; ids contain no dots, so this name is unambiguous. Two files for one item at one level
are an error, since nothing says which one wins.

The attached files of a skill have their own, ``<id>.files.toml`` with the folder ``<id>.files``, at each level after the text's
(:mod:`rye.customization.file_overrides`). Only kinds whose items are folders have attached files, so no name says the kind.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.customization.places import Folder, Places
from rye.customization.role_directives import Level
from rye.errors import RyeError
from rye.items.identity import Reference, is_id
from rye.items.kinds import KINDS
from rye.limits import CONTENT
from rye.project.spaces import Entry, Spaces
from rye.storage.safe_files import read_bytes
from rye.text.diagnostics import Diagnostic
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    from rye.items import attached
else:
    attached = lazy_module("rye.items.attached")  # only for overrides of attached files

SUFFIX = ".overrides.md"
FILES_SUFFIX = ".files.toml"
"""Of the file that says what is done with attached files."""
CONTENT_SUFFIX = ".files"
"""Of the folder with the contents of attached files. No id has a dot, so it is the folder of no other item."""


class Contents(Struct, frozen=True):
    """The files in the folder ``<id>.files``, by their path there, and what is wrong with the folder."""

    files: Mapping[str, bytes]
    problems: tuple[Diagnostic, ...] = ()


class OverrideSource(Struct, frozen=True):
    """One overrides file and its text, with the file's line endings and BOM."""

    level: Level
    path: Path
    shown: str
    text: str
    contents: Contents | None = None
    """For a file of entries about attached files: the contents in its folder. None for one about the item's text."""

    @property
    def evidence(self) -> bytes:
        """Everything that it says, for those who agree to it: the file's bytes, and the path and hash of each content."""
        if self.contents is None:
            return self.text.encode()
        files = sorted(self.contents.files.items())
        listed = "".join(f"{sha256(data).hexdigest()} {path}\n" for path, data in files)
        return f"{self.text}\0{listed}".encode()


class NamedFor(Struct, frozen=True):
    """The id in the name of an overrides file, and the kind if the name has one."""

    id: str
    kind: str | None


def named_for(folder: Folder, path: Path) -> NamedFor | None:
    """Parse the name of an overrides file; None if it does not contain a valid id."""
    name = path.relative_to(folder.path).as_posix()
    if name.endswith(FILES_SUFFIX):
        stem = name.removesuffix(FILES_SUFFIX)
        return NamedFor(stem, None) if is_id(stem) else None
    stem = name[: -len(SUFFIX)]
    identifier, dot, kind = stem.rpartition(".")
    if dot and kind in KINDS.overridable() and is_id(identifier):
        return NamedFor(identifier, kind)
    return NamedFor(stem, None) if is_id(stem) else None


def override_files(folder: Folder) -> list[Path]:
    """All overrides files at one level, of texts and of attached files, sorted. What is in the folders of contents is none."""
    found = [*folder.files(SUFFIX, nested=True), *folder.files(FILES_SUFFIX, nested=True)]
    return sorted(path for path in found if not _is_content(folder, path))


def _is_content(folder: Folder, path: Path) -> bool:
    return any(part.endswith(CONTENT_SUFFIX) for part in path.relative_to(folder.path).parts[:-1])


def file_for(folder: Folder, identifier: str, kind: str | None = None) -> Path:
    """The path of the overrides file for an id; with ``kind``, of the file for that kind only."""
    return folder.path / f"{identifier}{f'.{kind}' if kind else ''}{SUFFIX}"


def ids_of(entry: Entry) -> tuple[str, ...]:
    """The ids under which an item's overrides are looked up. The first one is used for new files."""
    local = entry.location.local_id
    ids = (entry.id, local) if entry.space == "installed" else (local, entry.id)
    return tuple(dict.fromkeys(ids))


def means(spaces: Spaces, identifier: str, entry: Entry) -> bool:
    """Whether an id in a file name means this item: its qualified id does; its local id does if a lookup finds this item."""
    if identifier == entry.id:
        return True
    return [one.path for one in spaces.matching(Reference(identifier, entry.location.kind))] == [entry.path]


def paths_for(
    folder: Folder, kind: str, ids: Iterable[str], is_meant: Callable[[str], bool] = lambda _: True
) -> list[Path]:
    """The item's files at one level: those with the kind in their name; if there are none, those without."""
    known = tuple(ids)
    return _named(folder, kind, known, is_meant) or _named(folder, None, known, is_meant)


def _named(folder: Folder, kind: str | None, ids: Sequence[str], is_meant: Callable[[str], bool]) -> list[Path]:
    paths = [(identifier, file_for(folder, identifier, kind)) for identifier in ids if is_id(identifier)]
    return [path for identifier, path in paths if os.path.lexists(path) and is_meant(identifier)]


def file_paths_for(
    folder: Folder, kind: str, ids: Iterable[str], is_meant: Callable[[str], bool] = lambda _: True
) -> list[Path]:
    """The files about the item's attached files at one level; none for a kind that has no attached files."""
    if KINDS[kind].main_file is None:
        return []
    paths = [(name, folder.path / f"{name}{FILES_SUFFIX}") for name in ids if is_id(name)]
    return [path for name, path in paths if os.path.lexists(path) and is_meant(name)]


def sources(
    places: Places, kind: str, ids: Iterable[str], is_meant: Callable[[str], bool] = lambda _: True
) -> tuple[OverrideSource, ...]:
    """The overrides of an item, the user's first. Raises RyeError for an unreadable file, and for two files at one level."""
    if kind not in KINDS.overridable():
        return ()
    known = tuple(ids)
    sources_found: list[OverrideSource] = []
    for folder in places.overrides:
        for paths in (
            paths_for(folder, kind, known, is_meant),
            file_paths_for(folder, kind, known, is_meant),
        ):
            if len(paths) > 1:
                listed = " and ".join(folder.shown(path) for path in paths)
                raise RyeError("ambiguous-overrides", f"{listed} are for the same item.", "Keep one of them.")
            sources_found += (found for path in paths if (found := source_at(folder, path)) is not None)
    return tuple(sources_found)


def source_at(folder: Folder, path: Path) -> OverrideSource | None:
    """One overrides file; None if it does not exist. Raises RyeError for an unreadable one, and for a link."""
    text = folder.text(path)
    if text is None:
        return None
    contents = read_contents(folder, path) if path.name.endswith(FILES_SUFFIX) else None
    return OverrideSource(folder.level, path, folder.shown(path), text, contents)


def content_folder(path: Path) -> Path:
    """The folder with the contents of a ``.files.toml``."""
    return path.with_name(path.name.removesuffix(FILES_SUFFIX) + CONTENT_SUFFIX)


def read_contents(folder: Folder, path: Path) -> Contents:
    """The files in the folder of a ``.files.toml``, read by the rules for attached files: no links, no unsafe paths, no more than
    the limits. Raises RyeError for a link on the way to it, and ``changed-meanwhile``."""
    place = content_folder(path)
    folder.refuse_links(place)
    if not place.is_dir():
        return Contents({})
    found, problems = attached.attached_files(place / _NO_MAIN_FILE)
    files = {}
    for file in found:
        data = read_bytes(place / file.path, CONTENT.attached_bytes)
        if sha256(data).hexdigest() != file.sha256:
            shown = folder.shown(place / file.path)
            raise RyeError("changed-meanwhile", f"{shown} was changed just now.", "Run the command again.")
        files[file.path] = data
    return Contents(files, problems)


_NO_MAIN_FILE = ".none"
"""No file in the folder is an item's own. Hidden names are left out in any case."""


def entry_sources(places: Places, entry: Entry, spaces: Spaces) -> tuple[OverrideSource, ...]:
    """Like :func:`sources`, for an item in a space."""
    return sources(places, entry.location.kind, ids_of(entry), lambda identifier: means(spaces, identifier, entry))
