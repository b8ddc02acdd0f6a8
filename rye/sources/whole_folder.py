"""All files of one folder, hidden ones included, as other tools hash them (shell). Links and submodules are left out.

A source's listing has only the files that can be part of an item (:mod:`rye.sources.listing`); a digest covers every
file.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from msgspec import Struct

from rye.limits import IMPORTS, SOURCES
from rye.sources.commit import read_blobs
from rye.sources.git_cache import Objects
from rye.sources.git_objects import FOLDER, TreeEntry, too_large, tree_entries, tree_of
from rye.sources.source_error import SourceError, shown


class WholeFolder(Struct, frozen=True):
    """A folder's files."""

    files: dict[str, bytes]
    """By path from the folder, with ``/``."""
    tree: str | None = None
    """The git object name of the folder, if it is in a commit."""


def commit_folder(objects: Objects, commit: str, folder: str, *, with_files: bool = True) -> WholeFolder:
    """Read a folder of a commit. ``with_files``: whether to read the files too, or only the tree's name.

    Raises SourceError ``no-such-folder``, ``source-too-large`` and what reading objects raises.
    """
    here = tree_of(commit, objects.read([commit], "commit", SOURCES.commit_bytes)[commit])
    for part in folder.split("/") if folder else ():
        rows = _rows(objects, [here])[here]
        found = next((row for row in rows if row.name == part and row.what == FOLDER), None)
        if found is None:
            message = f"The commit {commit} has no folder {shown(folder)!r}."
            raise SourceError(
                "no-such-folder", message, "Check the path. The repository's maintainers may have moved the folder."
            )
        here = found.object
    if not with_files:
        return WholeFolder({}, here)
    blobs: dict[str, str] = {}
    waiting, trees = {"": here}, 0
    while waiting:
        trees += len(waiting)
        if trees > SOURCES.trees:
            raise too_large(f"more than {SOURCES.trees:,} folders")
        rows_of = _rows(objects, list(waiting.values()))
        below: dict[str, str] = {}
        for above, tree in waiting.items():
            for row in rows_of[tree]:
                if row.name is None:
                    raise SourceError("source-malformed", f"{shown(above or folder)!r} has a name that is not UTF-8.")
                path = f"{above}/{row.name}".removeprefix("/")
                if row.what == FOLDER:
                    below[path] = row.object
                elif row.what in ("file", "executable"):
                    blobs[path] = row.object
        if len(blobs) > IMPORTS.folder_files:
            raise too_large(f"more than {IMPORTS.folder_files:,} files in one folder")
        waiting = below
    data = read_blobs(objects, blobs.values(), SOURCES.content_bytes)
    return WholeFolder({path: data[name] for path, name in blobs.items()}, here)


def _rows(objects: Objects, trees: list[str]) -> dict[str, list[TreeEntry]]:
    data = objects.read(trees, "tree", SOURCES.tree_bytes)
    return {name: tree_entries(name, data[name]) for name in dict.fromkeys(trees)}


def disk_folder(root: Path) -> WholeFolder:
    """Read a folder on this machine without following links. Raises SourceError ``source-too-large``, ``unreadable``."""
    files: dict[str, bytes] = {}
    left = SOURCES.content_bytes
    seen = 0
    waiting = [""]
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(root / here) as entries:
                rows = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            raise SourceError("unreadable", f"Cannot read {str(root / here)!r}: {error.strerror}.") from None
        for entry in rows:
            seen += 1
            if seen > IMPORTS.folder_files:
                raise too_large(f"more than {IMPORTS.folder_files:,} files in one folder")
            path = f"{here}/{entry.name}".removeprefix("/")
            if entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            elif entry.is_file(follow_symlinks=False):
                files[path] = _read(root / path, left)
                left -= len(files[path])
    return WholeFolder(files)


def _read(path: Path, most: int) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise SourceError("unreadable", f"Cannot read {str(path)!r}: {error.strerror}.") from None
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise SourceError("unreadable", f"{str(path)!r} is not a regular file.")
        data = stream.read(max(most, 0) + 1)
    if len(data) > most:
        raise too_large("more bytes than one run can read")
    return data
