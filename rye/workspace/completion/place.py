"""Where names are looked for: a folder, the project around it, and the texts of that project."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from rye.limits import COMPLETION
from rye.project.ownership import foreign_marker, outside_link
from rye.storage.safe_files import open_regular

NAMESPACE = re.compile(r'^[ \t]*namespace[ \t]*=[ \t]*"([a-z0-9_-]+)"', re.MULTILINE)
_TABLE = re.compile(r"^[ \t]*\[([^\[\]\n]+)\][ \t]*(?:#.*)?$", re.MULTILINE)


class Place:
    """A folder, and the project around it."""

    __slots__ = ("environment", "folder", "kind", "root")

    def __init__(self, folder: str, kind: str, environment: Mapping[str, str]) -> None:
        self.environment = environment
        """The variables that name the user's folders (:func:`rye.storage.places.place_of`)."""
        self.folder = os.path.abspath(folder)
        self.kind = kind
        self.root = _root(self.folder)

    def text(self, *parts: str) -> str:
        """The text of a file of the project, up to a limit; empty if it does not exist."""
        return _text(os.path.join(self.root, *parts)) if self.root is not None else ""


def _root(folder: str) -> str | None:
    """The project around a folder. Another user's offers no names, as commands do not use it."""
    while True:
        if os.path.isfile(f"{folder}/rye.toml") or os.path.isdir(f"{folder}/.ai"):
            return folder if foreign_marker(folder) is None and outside_link(folder) is None else None
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _text(path: str) -> str:
    """A regular file's text. Never waits for a pipe or a device."""
    try:
        with open_regular(path) as stream:
            return stream.read(COMPLETION.file_bytes).decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError:
        return ""


def tables(manifest: str) -> Iterator[tuple[str, str]]:
    """The tables of a manifest and their lines. Tolerates invalid TOML, because only names are made from it."""
    headers = list(_TABLE.finditer(manifest))
    ends = [header.start() for header in headers[1:]] + [len(manifest)]
    for header, end in zip(headers, ends, strict=False):
        yield header[1].strip(), manifest[header.end() : end]
