"""The four spaces that items are looked up in: project, then installed, then user, then system (DESIGN §1).

The first space with a match wins; two matches in one space are an error that lists them. ``-`` and ``_`` are the same
character here (DESIGN §6). An id can be a qualified id, a local id, or a bare name if only one item has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.items.identity import Reference, is_segment, lookup_key
from rye.items.kinds import KINDS
from rye.items.location import Location, locate, shared_folder, told_by_title
from rye.limits import CONTENT
from rye.project.context import main_file_in, own_items
from rye.project.item_file import read_item_bytes
from rye.project.layout import Project
from rye.project.lock_file import editable_rows, item_path
from rye.project.user_config import OtherPolicies, read_other_policies
from rye.storage.home import Home
from rye.text.spelling import close_words

SPACES = ("project", "installed", "user", "system")
_OF_PROJECTS = ("project", "installed")


class Entry(Struct, frozen=True):
    """One item file in one space. ``namespace``: the one it is published under, from its folder or from the project."""

    space: str
    path: Path
    location: Location
    namespace: str | None
    editable: bool = False
    """Whether it comes from an editable folder. There is then no file at ``path`` (:mod:`rye.workspace.items.editable_items`)."""

    @property
    def id(self) -> str:
        """The qualified id if a namespace is known, otherwise the local id."""
        return f"{self.namespace}/{self.location.local_id}" if self.namespace else self.location.local_id

    @property
    def label(self) -> str:
        """Its kind, id and space, for messages."""
        return f"{self.location.kind}:{self.id} ({self.space})"


def entries(home: Home, project: Project | None, namespace: str | None) -> Iterable[tuple[str, list[Entry]]]:
    """Yield the spaces in order, each with its items. Lazy: a later space is only read if the caller gets that far."""
    for space in SPACES:
        if project is not None or space not in _OF_PROJECTS:
            yield space, entries_of(home, space, project, namespace)


def entries_of(home: Home, space: str, project: Project | None, namespace: str | None) -> list[Entry]:
    """Return the items of one space; without a project, its two spaces are empty."""
    if space in _OF_PROJECTS:
        if project is None:
            return []
        return list(installed(project)) if space == "installed" else _entries(space, project.ai, namespace)
    return _entries(space, home.user_space if space == "user" else home.system_space, None)


def _entries(space: str, ai: Path, namespace: str | None) -> list[Entry]:
    entries = []
    for path in own_items(ai):
        location = locate(path.absolute())
        if location is not None and space != "installed" and shared_folder(location):
            location = _by_title(location, path)
        if location is not None:
            entries.append(Entry(space, path, location, namespace))
    return entries


def _by_title(location: Location, path: Path) -> Location:
    """Find the kind of an item in a folder that two kinds share. For an unreadable file, the folder decides."""
    try:
        data = read_item_bytes(path, CONTENT.item_bytes)
    except RyeError:
        return location
    return told_by_title(location, data.decode("utf-8", "replace").replace("\r\n", "\n").removeprefix("\ufeff"))


def installed(project: Project) -> Iterable[Entry]:
    """Yield the items below ``.ai/packages``, sorted by namespace, kind and path, then those of editable folders. If rye.lock
    says that an item is editable, a file at its path is not that item and is skipped."""
    editable = {entry.path: entry for entry in _editable(project)}
    if project.packages.is_dir():
        for folder in sorted(project.packages.iterdir()):
            if folder.is_dir() and not folder.is_symlink() and is_segment(folder.name):
                found = _entries("installed", folder, folder.name)
                yield from (entry for entry in found if entry.path not in editable)
    yield from editable.values()


def _editable(project: Project) -> Iterable[Entry]:
    for row in editable_rows(project):
        path = project.root / item_path(row)
        category, _, name = row.identity.local_id.rpartition("/")
        location = Location(row.kind, name, category, row.identity.namespace)
        yield Entry("installed", path, location, row.identity.namespace, editable=True)


def root_of(home: Home, entry: Entry) -> Path | None:
    """The folder below which no link is followed to the item's file; None: its path tells it (:mod:`rye.project.item_file`)."""
    return {"user": home.user_space, "system": home.system_space}.get(entry.space)


class Spaces:
    """The spaces around a caller that looks up many items of one moment: each is listed once, and the policies that are about all
    of them are read once."""

    def __init__(self, home: Home, project: Project | None, namespace: str | None) -> None:
        """``namespace``: the project's own."""
        self.home, self.project, self.namespace = home, project, namespace
        self._listed: dict[str, _Space] = {}

    @cached_property
    def other_policies(self) -> OtherPolicies:
        """The policies besides the project's. Raises RyeError if one cannot be read, or is out of date."""
        return read_other_policies(self.home)

    def entries_of(self, space: str) -> list[Entry]:
        """The items of one space."""
        return self._space(space).entries

    def every(self) -> Iterator[Entry]:
        """The items of all spaces."""
        return (entry for space in SPACES for entry in self.entries_of(space))

    def matching(self, reference: Reference) -> list[Entry]:
        """The items that the reference names: one, several if it is ambiguous, or none."""
        for space in SPACES:
            hits = self._space(space).matching(reference)
            if hits:
                return hits
        return []

    def find(self, reference: Reference) -> Entry:
        """The one item that the reference names. Raises RyeError ``no-such-item`` or ``ambiguous``, with the candidates."""
        hits = self.matching(reference)
        if len(hits) == 1:
            return hits[0]
        if hits:
            raise _ambiguous(reference, hits)
        raise _missing(reference, list(self.every()))

    def _space(self, space: str) -> _Space:
        if space not in self._listed:
            self._listed[space] = _Space(entries_of(self.home, space, self.project, self.namespace))
        return self._listed[space]


class _Space:
    """The items of one space, by what a reference can call them."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries
        self._ids: dict[str, list[Entry]] = {}
        self._names: dict[str, list[Entry]] = {}
        for entry in entries:
            for key in dict.fromkeys((lookup_key(entry.id), lookup_key(entry.location.local_id))):
                self._ids.setdefault(key, []).append(entry)
            self._names.setdefault(lookup_key(entry.location.name), []).append(entry)

    def matching(self, reference: Reference) -> list[Entry]:
        """Those with this id, else those with this bare name; only the one whose id is written just so, if there is one."""
        wanted = lookup_key(reference.id)
        for named in (self._ids, self._names if "/" not in wanted else {}):
            hits = [entry for entry in named.get(wanted, ()) if _of_kind(entry, reference.kind)]
            exact = [entry for entry in hits if entry.id == reference.id]
            if hits:
                return exact if len(exact) == 1 else hits
        return []


def find(home: Home, reference: Reference, project: Project | None, namespace: str | None) -> Entry:
    """The one item that the reference names, as the spaces are now. Raises like :meth:`Spaces.find`."""
    return Spaces(home, project, namespace).find(reference)


def _of_kind(entry: Entry, kind: str | None) -> bool:
    return kind is None or entry.location.kind == kind


def _is_id(entry: Entry, identifier: str) -> bool:
    wanted = lookup_key(identifier)
    return wanted in (lookup_key(entry.id), lookup_key(entry.location.local_id))


def _ambiguous(reference: Reference, hits: Sequence[Entry]) -> RyeError:
    listed = "\n".join(f"  {entry.label}" for entry in hits)
    first = hits[0]
    hint = f"Use the kind and full id, for example {first.location.kind}:{first.id}."
    if len({entry.label for entry in hits}) == 1:
        hint = "Two files have the same id, because an id has no suffix. Rename one of them."
    return UsageError(
        "ambiguous",
        f"{str(reference)!r} matches more than one item:\n{listed}",
        hint,
        details={"candidates": [f"{entry.location.kind}:{entry.id}" for entry in hits]},
    )


def _missing(reference: Reference, known: Sequence[Entry]) -> RyeError:
    other = [entry for entry in known if _is_id(entry, reference.id)]
    of_kind = [entry for entry in known if _of_kind(entry, reference.kind)]
    near = _near(reference.id, of_kind)
    if other:
        hint = f"There is {', '.join(f'{entry.location.kind}:{entry.id}' for entry in other)}."
    elif near:
        hint = f"Did you mean {', '.join(near)}?"
    else:
        hint = f"`rye search {reference.id.rsplit('/', 1)[-1]}` looks in the registry, `rye list` shows what is here."
    kind = f"{reference.kind} " if reference.kind else "item "
    return RyeError(
        "no-such-item", f"There is no {kind}{reference.id!r} in the project, installed, user or system space.", hint
    )


def _near(wanted: str, known: Sequence[Entry]) -> list[str]:
    """Return at most three similar ids, without duplicates. The last part of the id must also be similar."""
    names = {name: entry for entry in known for name in (entry.id, entry.location.local_id)}
    last = wanted.rpartition("/")[2]
    alike = [name for name in close_words(wanted, sorted(names), 6) if close_words(last, [name.rpartition("/")[2]])]
    shown: dict[tuple[str, str], str] = {}
    for name in alike:
        shown.setdefault((names[name].location.kind, names[name].id), name)
    return list(dict.fromkeys(shown.values()))[:3]


def _is_item_path(path: Path) -> bool:
    """Whether the path exists and can be an item. A folder must be a skill's, because ids are often also names of folders."""
    try:
        return path.exists() and (not path.is_dir() or main_file_in(path) is not None)
    except OSError:  # too long for a file name
        return False


def looks_like_path(text: str, base: Path) -> bool:
    """Whether an argument ``FILE|ID`` is a file: it exists, or it cannot be an id."""
    if _is_item_path(base / text):
        return True
    endings = tuple(ending for kind in KINDS.values() for ending in kind.endings)
    return text.startswith((".", "/", "~")) or text.endswith(endings) or "\\" in text
