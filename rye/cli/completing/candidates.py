"""The names that may be completed, from the disk alone: rye.lock, own items, keys, settings, cached name maps.

A name grants nothing, so nothing is verified here; whoever uses it is told what it is worth. What cannot be read gives no names.
Names that a terminal would not show as they are stay out. Files and folders are the shell's own business.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from rye.limits import COMPLETION

_ROW = re.compile(r'^kind = "([a-z]+)"\nid = "([a-z0-9_/-]+)"$', re.MULTILINE)
_WANTED = re.compile(r"""^[ \t]*(?:"([a-z0-9_/:-]+)"|'([a-z0-9_/:-]+)')[ \t]*=""", re.MULTILINE)
_TABLE = re.compile(r"^[ \t]*\[([^\[\]\n]+)\][ \t]*(?:#.*)?$", re.MULTILINE)
_GROUP = re.compile(r"^[ \t]*\[groups\.([a-z0-9_-]+)\]", re.MULTILINE)
_KEY = re.compile(r"^[ \t]*([a-z0-9_-]+)[ \t]*=", re.MULTILINE)
_NAMESPACE = re.compile(r'^[ \t]*namespace[ \t]*=[ \t]*"([a-z0-9_-]+)"', re.MULTILINE)


def names(kind: str, folder: str, begun: str = "") -> list[str]:
    """The names of a kind of value that begin so, sorted, each once; of ids, where none does, without their namespace.

    ``kind``: as the table has it (``item``, ``item role``, ``key`` …). ``folder``: where the person works.
    """
    what, _, of_kind = kind.partition(" ")
    source = _SOURCES.get(what.removesuffix("-or-file"))
    if source is None:
        return []
    found: set[str] = set()
    short: set[str] = set()
    try:
        for name in source(Place(folder, of_kind)):
            if name.startswith(begun):
                found.add(name)
            elif name.partition("/")[2].startswith(begun):
                short.add(name.partition("/")[2])
            if len(found) >= COMPLETION.names:
                break
    except OSError:  # what cannot be read gives no names
        pass
    shown = sorted(name for name in found or short if name.isprintable() and len(name) <= COMPLETION.name_characters)
    return shown[: COMPLETION.names]


def takes_files(kind: str) -> str:
    """``file`` or ``dir`` where the shell should offer those, too; else nothing."""
    return "dir" if kind == "folder" else "file" if kind == "file" or kind.endswith("-or-file") else ""


class Place:
    """Where names are looked for."""

    __slots__ = ("folder", "kind", "root")

    def __init__(self, folder: str, kind: str) -> None:
        self.folder = os.path.abspath(folder)
        self.kind = kind
        self.root = _root(self.folder)

    def text(self, *parts: str) -> str:
        """A file of the project, as far as it may be read; nothing where there is none."""
        return _text(os.path.join(self.root, *parts)) if self.root is not None else ""


def _root(folder: str) -> str | None:
    while True:
        if os.path.isfile(f"{folder}/rye.toml") or os.path.isdir(f"{folder}/.ai"):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _text(path: str) -> str:
    """A regular file's text; a pipe or a device is not waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(stream.fileno())
        if status.st_mode & 0o170000 != 0o100000:
            return ""
        return stream.read(COMPLETION.file_bytes).decode("utf-8", "replace").replace("\r\n", "\n")


def _locked(place: Place) -> Iterator[str]:
    """What rye.lock names, as ``id``, and as ``kind:id`` where two kinds have the id; what rye.toml asks for."""
    rows = [(kind, name) for kind, name in _ROW.findall(place.text("rye.lock")) if place.kind in ("", kind)]
    kinds: dict[str, set[str]] = {}
    for kind, name in rows:
        kinds.setdefault(name, set()).add(kind)
    for kind, name in rows:
        yield name if len(kinds[name]) == 1 else f"{kind}:{name}"
    if not place.kind:
        for table, text in _tables(place.text("rye.toml")):
            if table == "dependencies" or table.startswith("groups."):
                yield from (first or second for first, second in _WANTED.findall(text))


def _own(place: Place) -> Iterator[str]:
    """The project's own items by the folders of their kinds; no file is opened."""
    if place.root is None:
        return
    from rye.items.kinds import KINDS  # other names don't need the table of kinds

    namespace = _NAMESPACE.search(place.text("rye.toml"))
    prefix = f"{namespace[1]}/" if namespace else ""
    for kind in KINDS.values():
        if place.kind not in ("", kind.name):
            continue
        base = os.path.join(place.root, ".ai", kind.folder)
        for folder, below, files in os.walk(base):
            below.sort()
            relative = os.path.relpath(folder, base).replace(os.sep, "/")
            if relative.count("/") >= COMPLETION.depth:
                below.clear()
            inside = "" if relative == "." else f"{relative}/"
            if kind.main_file is not None:
                if kind.main_file in files and inside:
                    yield prefix + inside[:-1]
                    below.clear()
                continue
            for name in sorted(files):
                ending = next((suffix for suffix in kind.suffixes if name.endswith(suffix) and name != suffix), None)
                if ending is not None:
                    yield prefix + inside + name[: -len(ending)]


def _items(place: Place) -> Iterator[str]:
    yield from _locked(place)
    yield from _own(place)


def _published(place: Place) -> Iterator[str]:
    """What the cache has of the pinned registries' name maps, and what is locked already."""
    from rye.cli.completing.cached_names import cached_names  # reads packs, which other names don't need

    yield from cached_names()
    yield from _locked(place)


def _keys(place: Place) -> Iterator[str]:
    from rye.storage.places import place_of

    for name in sorted(os.listdir(os.path.join(place_of("config"), "keys"))):
        if name.endswith(".key"):
            yield name.removesuffix(".key")


def _targets(place: Place) -> Iterator[str]:
    from rye.project.agent_programs import program_names

    yield from program_names()


def _groups(place: Place) -> Iterator[str]:
    yield "main"
    yield from _GROUP.findall(place.text("rye.toml"))


def _namespaces(place: Place) -> Iterator[str]:
    """Of this project, of what it has installed, and of its map of registries and sources."""
    manifest = place.text("rye.toml")
    yield from _NAMESPACE.findall(manifest)
    for table, text in _tables(manifest):
        if table in ("registries", "sources"):
            yield from _KEY.findall(text)
    yield from (name.partition("/")[0] for _, name in _ROW.findall(place.text("rye.lock")))


def _sources(place: Place) -> Iterator[str]:
    for table, text in _tables(place.text("rye.toml")):
        if table == "sources":
            yield from _KEY.findall(text)
        elif table.startswith("sources."):
            yield table.removeprefix("sources.").strip("\"' ")


def _tables(manifest: str) -> Iterator[tuple[str, str]]:
    """The tables of a manifest and their lines. Of lines that are no TOML no more than names can be made."""
    headers = list(_TABLE.finditer(manifest))
    ends = [header.start() for header in headers[1:]] + [len(manifest)]
    for header, end in zip(headers, ends, strict=False):
        yield header[1].strip(), manifest[header.end() : end]


def _registries(place: Place) -> Iterator[str]:
    from rye.cli.completing.cached_names import pinned_addresses

    yield from pinned_addresses()


def _settings(place: Place) -> Iterator[str]:
    from rye.project.user_config import SETTINGS

    yield from SETTINGS


def _runs(place: Place) -> Iterator[str]:
    if place.root is not None:
        runs = sorted(os.listdir(os.path.join(place.root, ".ai", "runs")), reverse=True)
        yield from (name for name in runs[: COMPLETION.names] if re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{26}", name))


def _commands(place: Place) -> Iterator[str]:
    from rye.cli.completing.stored import stored_table

    yield from stored_table()[""]["commands"]


_SOURCES: dict[str, Callable[[Place], Iterator[str]]] = {
    "item": _items,
    "locked": _locked,
    "published": _published,
    "key": _keys,
    "target": _targets,
    "group": _groups,
    "namespace": _namespaces,
    "source": _sources,
    "registry": _registries,
    "setting": _settings,
    "run": _runs,
    "command": _commands,
}
"""Each kind of value and where its names come from."""
