"""The files of a commit. Every object is hashed, from the commit down, so only the commit's hash is trusted (shell)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from rye.limits import SOURCES
from rye.sources.git_cache import Objects
from rye.sources.git_objects import FOLDER, require_object, too_large, tree_entries, tree_of
from rye.sources.listing import Listing, TreeEntry, What, is_entered, is_name, with_links
from rye.sources.source_error import SourceError, shown

_WHATS: Mapping[str, What] = {"file": "file", "executable": "executable", "link": "link", "submodule": "submodule"}


class Snapshot(Struct, frozen=True):
    """The files in a source's folder in one commit."""

    tree: str
    """The hash of the commit's whole tree."""
    files: Listing
    """By path relative to the source's own folder."""


def read_snapshot(objects: Objects, commit: str, base: str) -> Snapshot:
    """List a commit's files below ``base``. Raises SourceError ``no-such-folder`` and what reading objects raises."""
    data = objects.read([commit], "commit", SOURCES.commit_bytes)[commit]
    root = tree_of(commit, data)
    here = root
    for number, part in enumerate(base.split("/") if base else ()):
        rows = tree_entries(here, objects.read([here], "tree", SOURCES.tree_bytes)[here])
        found = next((row for row in rows if row.name == part), None)
        if found is None or found.what != FOLDER:
            path = "/".join(base.split("/")[: number + 1])
            what = "no folder" if found is None else f"a {found.what} instead of a folder"
            raise SourceError(
                "no-such-folder",
                f"The commit {commit} has {what} at {path!r}.",
                "Check the folder in the address, or path in [sources] in rye.toml.",
            )
        here = found.object
    files: dict[str, TreeEntry] = {}
    waiting, trees = {"": here}, 0
    while waiting:
        trees += len(waiting)
        if trees > SOURCES.trees:
            raise too_large(f"more than {SOURCES.trees:,} folders")
        data_of = objects.read(waiting.values(), "tree", SOURCES.tree_bytes)
        below: dict[str, str] = {}
        for folder, tree in waiting.items():
            for row in tree_entries(tree, data_of[tree]):
                name = row.name if row.name is not None and is_name(row.name) else None
                path = f"{folder}/{name if name is not None else shown(repr(row.name))}".removeprefix("/")
                if name is None:
                    files[path] = TreeEntry("special")
                elif row.what == FOLDER:
                    if is_entered(path):
                        below[path] = row.object
                else:
                    files[path] = TreeEntry(_WHATS.get(row.what, "special"), row.object)
            if len(files) > SOURCES.entries:
                raise too_large(f"more than {SOURCES.entries:,} files")
        waiting = below
    return Snapshot(root, with_links(files, _link_texts(objects, files)))


def _link_texts(objects: Objects, files: Listing) -> dict[str, str]:
    """Return what the first links say, by path; a text that is too long to be a path of the source is left out."""
    links = [path for path in sorted(files) if files[path].what == "link"][: SOURCES.links]
    sizes = objects.sizes(files[path].blob for path in links)
    short = [path for path in links if 0 < sizes.get(files[path].blob, 0) <= SOURCES.path_characters]
    data = read_blobs(objects, (files[path].blob for path in short), SOURCES.path_characters)
    return {path: data[files[path].blob].decode("utf-8", "replace") for path in short}


def read_blobs(objects: Objects, names: Iterable[str], most_bytes: int) -> dict[str, bytes]:
    """Return the bytes of files by git object name, each checked against its hash. Raises SourceError."""
    found = objects.read(names, "blob", most_bytes)
    for name, data in found.items():
        require_object(name, "blob", data)
    return found
