"""Reading the files of a folder source in place (shell). Links below the source's folder are never followed or opened: what
stands for another file of the source is read at that file's own path."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from rye.limits import SOURCES
from rye.project.declared_sources import PathSource
from rye.sources.git_objects import too_large
from rye.sources.listing import Listing, TreeEntry, is_entered, is_name, with_links
from rye.sources.source_error import SourceError, shown
from rye.storage.safe_files import is_reached


def source_folder(project: Path, source: PathSource, hint: str = "Check [sources] in rye.toml.") -> Path:
    """Return the source's folder. Links inside the project are refused: anyone with commit access could point them anywhere.

    ``hint``: tells a person where to correct the path.

    Raises SourceError ``no-such-folder``.
    """
    place = Path(os.path.normpath(project / source.path))
    if place == project or (project.is_relative_to(place) and (place / ".ai").resolve() == (project / ".ai").resolve()):
        raise _no_folder(source, "is the project itself", hint)
    inside = place.relative_to(project).parts if place.is_relative_to(project) else ()
    here = project
    for part in inside:
        here = here / part
        if here.is_symlink():
            raise _no_folder(source, "is reached through a symbolic link in the project", hint)
    if not place.exists():
        raise _no_folder(source, "does not exist", hint)  # an import writes this into rye.toml: no path of this machine
    if place.is_file():
        raise _no_folder(
            source, "is a file", f"Name the folder that contains it: {shown(str(Path(source.path).parent))}"
        )
    if inside[:2] == (".ai", "packages") or not place.is_dir():
        raise _no_folder(source, "is not a folder that items can come from", hint)
    return place


def read_folder(root: Path, *, links: bool = True) -> Listing:
    """List the files below a folder. ``links``: whether a link to a file of the source stands for it.

    Raises SourceError ``source-too-large``, ``unreadable``.
    """
    files: dict[str, TreeEntry] = {}
    texts: dict[str, str] = {}
    waiting, folders = [""], 0
    while waiting:
        relative = waiting.pop()
        folders += 1
        if folders > SOURCES.trees or len(files) > SOURCES.entries:
            raise too_large(f"more than {SOURCES.trees:,} folders or {SOURCES.entries:,} files")
        try:
            with os.scandir(root / relative) as entries:
                rows = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            raise _unreadable(relative or ".", error) from None
        for row in rows:
            path = f"{relative}/{row.name}".removeprefix("/")
            if not is_name(row.name):
                if row.name != ".git":
                    files[f"{relative}/{shown(repr(row.name))}".removeprefix("/")] = TreeEntry("special")
            elif row.is_symlink():
                files[path] = TreeEntry("link")
                if links and len(texts) < SOURCES.links:
                    texts[path] = _link_text(root / path)
            elif row.is_dir(follow_symlinks=False):
                if is_entered(path):
                    waiting.append(path)
            elif row.is_file(follow_symlinks=False):
                executable = bool(row.stat(follow_symlinks=False).st_mode & stat.S_IXUSR)
                files[path] = TreeEntry("executable" if executable else "file")
            else:
                files[path] = TreeEntry("special")
    return with_links(files, texts)


def _link_text(place: Path) -> str:
    try:
        return os.readlink(place)
    except OSError:  # it changed since the folder was listed
        return ""


def sizes(root: Path, paths: Iterable[str]) -> dict[str, int]:
    """Return sizes in bytes; missing files are left out."""
    bytes_by_path = {}
    for path in paths:
        try:
            bytes_by_path[path] = (root / path).lstat().st_size
        except OSError:
            continue
    return bytes_by_path


def read_files(root: Path, paths: Iterable[str], most_bytes: int) -> dict[str, bytes]:
    """Return the bytes of regular files, each at most ``most_bytes``. Raises SourceError."""
    contents: dict[str, bytes] = {}
    left = SOURCES.content_bytes
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    for path in paths:
        try:
            with os.fdopen(os.open(root / path, flags), "rb") as stream:
                if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                    raise SourceError("unreadable", f"{path!r} is no longer a regular file.")
                if not is_reached(root, root / path, os.fstat(stream.fileno())):
                    raise SourceError("unreadable", f"{path!r} changed while it was read.")
                contents[path] = stream.read(most_bytes + 1)
        except OSError as error:
            raise _unreadable(path, error) from None
        left -= len(contents[path])
        if len(contents[path]) > most_bytes or left < 0:
            raise too_large(f"a file of more than {most_bytes:,} bytes")
    return contents


def _unreadable(path: str, error: OSError) -> SourceError:
    return SourceError("unreadable", f"{path!r} cannot be read: {error.strerror}.")


def _no_folder(source: PathSource, why: str, hint: str) -> SourceError:
    return SourceError("no-such-folder", f"The folder {source.path!r} of the source {source.name} {why}.", hint)
