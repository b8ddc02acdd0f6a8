"""Reads the disk for :mod:`rye.deployment.plan`: only regular files, without following links."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from rye.deployment.plan_values import OnDisk
from rye.limits import CONTENT
from rye.project.agent_programs import is_shared_file


class FolderDisk:
    """The files below one folder, each read once."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._folders: dict[str, str] = {"": "folder"}
        self._known: dict[str, OnDisk] = {}

    def read(self, path: str) -> OnDisk:
        """Return what is at a path relative to the folder."""
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = self._read(path)
        return known

    def is_folder(self, path: str) -> bool:
        """Whether there is a real folder at the path."""
        return self._folder(path) == "folder"

    def below(self, folder: str) -> dict[str, tuple[int, int]]:
        """Return everything in a real folder and in the real folders below it that is no folder itself: files, links, devices,
        each with its device and inode, by path. A folder stands for what cannot be listed, and for what is beyond
        :data:`rye.limits.CONTENT` ``.folder_entries``. What Python compiled by a source's time is left out: it appears when a
        script is used, and no commit can know that time."""
        found: dict[str, tuple[int, int]] = {}
        waiting, count = [folder], 0
        while waiting:
            here = waiting.pop()
            if self._folder(here) != "folder":
                continue
            try:
                with os.scandir(f"{self._root}/{here}") as entries:
                    for entry in entries:
                        count += 1
                        path = f"{here}/{entry.name}"
                        if count > CONTENT.folder_entries:
                            return {**dict(sorted(found.items())), here: (0, 0)}
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(path)
                        elif not (here.endswith("/__pycache__") and self._is_compiled(path)):
                            status = entry.stat(follow_symlinks=False)
                            found[path] = status.st_dev, status.st_ino
            except OSError:
                found[here] = (0, 0)
        return dict(sorted(found.items()))

    def _is_compiled(self, path: str) -> bool:
        """Whether Python compares a compiled file with its source by time and size. One with a hash of the source is used
        whatever it does."""
        here = self.read(path)
        return path.endswith(".pyc") and here.kind == "file" and here.data[4:8] == bytes(4)

    def shared(self, path: str) -> str:
        """Return the file to change for a shared file: if it is a link to another one of the same form, that one."""
        if not os.path.islink(f"{self._root}/{path}"):
            return path
        real, root = os.path.realpath(f"{self._root}/{path}"), os.path.realpath(self._root)
        inside = os.path.relpath(real, root).replace(os.sep, "/")
        alike = is_shared_file(inside) and inside.endswith(".md") == path.endswith(".md")
        return inside if alike and os.path.isfile(real) else path

    def _folder(self, path: str) -> str:
        """Return ``folder``, ``missing``, ``outside`` (the path contains a link) or ``other`` (a file is in its place)."""
        known = self._folders.get(path)
        if known is not None:
            return known
        above = self._folder(path.rpartition("/")[0])
        if above == "folder":
            try:
                mode = os.lstat(f"{self._root}/{path}").st_mode
                above = "outside" if stat.S_ISLNK(mode) else "folder" if stat.S_ISDIR(mode) else "other"
            except OSError:
                above = "missing"
        self._folders[path] = above
        return above

    def _link_above(self, path: str) -> str:
        """Return the first folder on the way to the path that is a link."""
        parts = path.split("/")
        above = ("/".join(parts[:number]) for number in range(1, len(parts)))
        return next(folder for folder in above if self._folder(folder) == "outside")

    def _read(self, path: str) -> OnDisk:
        folder = self._folder(path.rpartition("/")[0])
        if folder == "outside":
            return OnDisk("outside", link=self._link_above(path))
        if folder == "other":
            return OnDisk("other")
        full = f"{self._root}/{path}"
        try:
            descriptor = os.open(full, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        except FileNotFoundError:
            return OnDisk("missing")
        except OSError:
            return OnDisk("outside", link=path) if os.path.islink(full) else OnDisk("other")
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > CONTENT.attached_bytes:
            os.close(descriptor)  # fdopen would fail for a folder
            return OnDisk("other")
        with os.fdopen(descriptor, "rb") as stream:
            return OnDisk(
                "file",
                stream.read(CONTENT.attached_bytes),
                stat.S_IMODE(status.st_mode),
                (status.st_dev, status.st_ino),
            )
