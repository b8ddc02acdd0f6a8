"""The folders of customizations, and reading and writing their files.

============  =====================================================  ==================================================
Layout        user ("town")                                          project ("rig")
============  =====================================================  ==================================================
rye           ``<user space>/{overrides,formula-overlays,            ``.ai/{overrides,formula-overlays,
              role-directives}/``                                    role-directives}/``
gastown       ``TOWN/{formula-overlays,directives}/``                ``TOWN/RIG/{formula-overlays,directives}/``
============  =====================================================  ==================================================

Names of roles, formulas and rigs are item names, so no name leads out of its folder (DECISIONS Role directives 8). A project is
not trusted: a symlink in its folders is refused, since it could put any file of this machine into a prompt.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from rye.customization.role_directives import Level
from rye.errors import RyeError, UsageError
from rye.items.identity import is_segment
from rye.limits import OVERRIDES
from rye.project.layout import Project
from rye.storage.home import Home
from rye.storage.opened_folder import OpenedFolder, opened_folder
from rye.storage.safe_files import LockTimeout, read_bytes

OVERLAY_SUFFIX = ".toml"
DIRECTIVE_SUFFIX = ".md"
_LOCK_SECONDS = 10.0
"""How long a run waits for another one that writes in the same folder."""


class Folder(Struct, frozen=True):
    """The folder of one kind of customization at one level. ``root``: symlinks below it are refused; None: they are allowed."""

    level: Level
    path: Path
    root: Path | None = None
    shown_from: Path | None = None
    """Messages show paths relative to this folder; None: unchanged."""

    def file(self, name: str, suffix: str) -> Path:
        """The path of the file for ``name`` in this folder."""
        return self.path / f"{name}{suffix}"

    def shown(self, path: Path) -> str:
        """A path in this folder, as shown in messages."""
        return os.path.relpath(path, self.shown_from) if self.shown_from is not None else str(path)

    def read(self, path: Path) -> bytes | None:
        """The bytes of a file in this folder; None if it does not exist. Raises RyeError if it is unreadable or refused."""
        self.refuse_links(path)
        if not os.path.lexists(path):
            return None
        data = read_bytes(path, OVERRIDES.file_bytes)
        if len(data) > OVERRIDES.file_bytes:
            raise RyeError(
                "file-too-large",
                f"{self.shown(path)} has more than {OVERRIDES.file_bytes:,} bytes.",
                "Make it shorter.",
            )
        return data

    def text(self, path: Path) -> str | None:
        """Like :meth:`read`, decoded, with line endings and BOM unchanged. Also raises RyeError ``unreadable``."""
        data = self.read(path)
        return None if data is None else decode(data, self.shown(path))

    def write(self, path: Path, data: bytes) -> None:
        """Write a file in this folder. Raises RyeError ``symlink``, ``symlink-in-the-way``, and OSError."""
        with self._opened(path) as (folder, name):
            folder.replace(name, data)

    def replace(self, path: Path, before: bytes | None, data: bytes) -> bool:
        """Write a file that still has the bytes ``before`` (None: that is not there); False if it was changed since, or
        another run is changing it.

        Raises as :meth:`write` does."""
        try:
            with self._opened(path) as (folder, name), folder.alone(_LOCK_SECONDS):
                if not folder.has(name, before):
                    return False
                folder.replace(name, data)
                return True
        except LockTimeout:
            return False

    def keep(self, path: Path, data: bytes) -> str:
        """Write a new file under the first free name (:meth:`rye.storage.opened_folder.OpenedFolder.keep`), and return that.
        Raises as :meth:`write` does."""
        with self._opened(path) as (folder, name):
            return folder.keep(name, data)

    @contextmanager
    def _opened(self, path: Path) -> Iterator[tuple[OpenedFolder, str]]:
        """Open the folder of a file, which is made if it is missing; yield it and the file's name. In a project, a link that
        takes a folder's place after the check is not followed; a person's own links are."""
        if self.root is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path = path.resolve()
        else:
            self.refuse_links(path)
        root = self.root or path.parent
        with opened_folder(root) as opened, opened.around(path.relative_to(root).as_posix(), make=True) as found:
            yield found

    def refuse_links(self, path: Path) -> None:
        """Raise RyeError ``symlink`` for a link on the way from the root to ``path``, which can be the link."""
        if self.root is None:
            return
        at = path
        while at != self.root and at != at.parent:
            if at.is_symlink():
                raise RyeError(
                    "symlink",
                    f"{self.shown(at)} is a symlink, and a project's customizations must be inside the project.",
                    "Put the file itself there.",
                )
            at = at.parent

    def files(self, suffix: str, *, nested: bool = False) -> list[Path]:
        """The files in this folder that end with ``suffix``, sorted. Symlinks are listed but not followed."""
        found = sorted(path for path in self._walk(nested) if path.name.endswith(suffix) and path.name != suffix)
        return [path for path in found if not path.name.startswith(".")]

    def _walk(self, nested: bool) -> Iterator[Path]:
        seen = 0
        for folder, folders, files in os.walk(self.path, followlinks=False):
            folders[:] = sorted(folders) if nested else []
            for name in files:
                seen += 1
                if seen > OVERRIDES.files:
                    raise RyeError("too-many-files", f"More than {OVERRIDES.files} files in {self.shown(self.path)}.")
                yield Path(folder) / name


class Places(Struct, frozen=True):
    """The folders of one layout, the user's before the project's. Either can be missing."""

    layout: str
    overlays: tuple[Folder, ...]
    role_directives: tuple[Folder, ...]
    overrides: tuple[Folder, ...] = ()
    rig: str | None = None
    """The project's name in messages."""

    def only(self, level: Level) -> Places:
        """The folders of one level."""
        overlays, directives, overrides = (
            tuple(folder for folder in folders if folder.level == level)
            for folders in (self.overlays, self.role_directives, self.overrides)
        )
        return Places(self.layout, overlays, directives, overrides, self.rig)

    def of(self, folders: tuple[Folder, ...], level: Level) -> Folder | None:
        """The folder of one level, or None."""
        return next((folder for folder in folders if folder.level == level), None)


def rye_places(home: Home, project: Project | None) -> Places:
    """The folders of the user's space and of the project's ``.ai``."""
    user = home.user_space
    overlays = [Folder("user", user / "formula-overlays")]
    directives = [Folder("user", user / "role-directives")]
    overrides = [Folder("user", user / "overrides")]
    if project is not None:
        root = project.root
        overlays.append(Folder("project", project.overlays, root, root))
        directives.append(Folder("project", project.role_directives, root, root))
        overrides.append(Folder("project", project.overrides, root, root))
    rig = project.root.resolve().name if project is not None else None
    return Places("rye", tuple(overlays), tuple(directives), tuple(overrides), rig)


def gastown_places(town: Path, rig: str | None) -> Places:
    """The folders of a Gas Town. Raises UsageError for an invalid rig name, RyeError for a missing folder."""
    if not town.is_dir():
        raise RyeError("no-such-folder", f"There is no town {str(town)!r}.", "Give its folder to --town.")
    levels: list[tuple[Level, Path]] = [("user", town)]
    if rig is not None:
        if not is_segment(rig):
            raise UsageError(
                "bad-argument",
                f"{rig!r} is not a valid rig name.",
                "Names are lower-case letters, digits, '-' and '_', at most 64, and no path.",
                what="rig",
            )
        if not (town / rig).is_dir():
            raise RyeError("no-such-folder", f"There is no rig {rig!r} in {str(town)!r}.", "Check --rig.")
        levels.append(("project", town / rig))
    overlays = tuple(Folder(level, path / "formula-overlays", town, town) for level, path in levels)
    directives = tuple(Folder(level, path / "directives", town, town) for level, path in levels)
    return Places("gastown", overlays, directives, rig=rig)


def check_name(name: str, what: str) -> str:
    """Return ``name`` if it is a valid item name, which never contains a path. Raises UsageError ``bad-argument`` otherwise."""
    if not is_segment(name):
        raise UsageError(
            "bad-argument",
            f"{name!r} is not a {what}'s name.",
            "Names are lower-case letters, digits, '-' and '_', at most 64, and no path.",
            what="item name",
        )
    return name


def decode(data: bytes, shown: str) -> str:
    """Decode UTF-8, keeping line endings and BOM. Raises RyeError ``unreadable``."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RyeError("unreadable", f"{shown} is not UTF-8 (byte {error.start}).", "Save the file as UTF-8.") from None
