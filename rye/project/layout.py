"""The layout of files and folders in a project and in the user's own space (DESIGN §1, §6)."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from msgspec import Struct

from rye.limits import PROJECT
from rye.project.member_patterns import claimed_by, unreadable_root

MANIFEST = "rye.toml"
LOCK = "rye.lock"


class Project(Struct, frozen=True):
    """A folder with a ``rye.toml`` or an ``.ai`` folder; paths in it are made here and nowhere else."""

    root: Path

    @property
    def manifest_path(self) -> Path:
        """The path of rye.toml."""
        return self.root / MANIFEST

    @property
    def lock_path(self) -> Path:
        """The path of rye.lock."""
        return self.root / LOCK

    @property
    def ai(self) -> Path:
        """The project's own items."""
        return self.root / ".ai"

    @property
    def packages(self) -> Path:
        """Installed items; only the installation's transaction writes here."""
        return self.ai / "packages"

    @property
    def overrides(self) -> Path:
        """The folder of the project's overrides."""
        return self.ai / "overrides"

    @property
    def overlays(self) -> Path:
        """The folder of the project's formula overlays."""
        return self.ai / "formula-overlays"

    @property
    def role_directives(self) -> Path:
        """The folder of the project's role directives."""
        return self.ai / "role-directives"


def installed_place(path: Path, cwd: Path | None = None) -> tuple[Project, Path] | None:
    """The project whose ``.ai/packages`` the file is in, and the file as that project names it; None for any other file.

    The name tells, and so does the real place: ``.ai`` may be a link, and its target has a name of its own. Looked at are the
    folders above the file, as named and behind links, and the project around ``cwd``. Only where things are tells: a
    ``rye.toml`` among the installed files makes no project of them.
    """
    named, real = Path(os.path.abspath(path)), path.resolve()
    for each in (named, real):
        parts = each.parts
        for index in range(len(parts) - 2):
            if parts[index : index + 2] == (".ai", "packages"):
                return Project(Path(*parts[:index])), each
    above = {identity: folder for folder in real.parents if (identity := _identity(folder)) is not None}
    around = find_project(cwd) if cwd is not None else None
    roots = [*named.parents, *real.parents, *([around.root] if around is not None else ())]
    for root in dict.fromkeys(roots):
        packages = Project(root).packages
        folder = above.get(_identity(packages) or (-1, -1))
        if folder is not None:
            return Project(root), packages / real.relative_to(folder)
    return None


def _identity(folder: Path) -> tuple[int, int] | None:
    """What names a folder whatever it is called; None where there is none."""
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def find_project(start: Path) -> Project | None:
    """The nearest folder at or above ``start`` with a ``rye.toml``, else the nearest with an ``.ai`` folder; None if none.

    Where a ``rye.toml`` further up names that folder as a member of its workspace, it is that one's: the root. Whoever owns the
    member's file must own the root's, too, so that nobody takes a project in by a file in a folder that all can write.

    The user's own folder for items never counts as a project, so that a stray ``~/.ai`` does not swallow a home folder.
    """
    start = Path(os.path.abspath(start))  # ".." taken out: the folders above are the real ones
    candidates = [start, *start.parents]
    for folder in candidates:
        if (folder / MANIFEST).is_file():
            while (above := workspace_above(folder)) is not None:
                folder = above
            return Project(folder)
    home = Path.home()
    for folder in candidates:
        if (folder / ".ai").is_dir() and (folder != home or folder == start):
            return Project(folder)
    return None


def workspace_above(member: Path) -> Path | None:
    """The folder above whose ``rye.toml`` names this one as a member, be it there yet or not; None: there is none.

    Raises RyeError ``bad-manifest`` for one that may do so and cannot be read.
    """
    owner: int | None = None
    for folder in member.parents:
        try:
            descriptor = os.open(folder / MANIFEST, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            continue
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                continue
            data = stream.read(PROJECT.manifest_bytes)
        try:
            claimed = claimed_by(data, member.relative_to(folder).as_posix())
        except ValueError as error:
            raise unreadable_root(str(folder / MANIFEST), error) from None
        if claimed:
            owner = _owner(member / MANIFEST) if owner is None else owner
            if owner == status.st_uid:
                return folder
    return None


def _owner(file: Path) -> int:
    """Who owns a file, or would if this user made it."""
    try:
        return os.stat(file).st_uid
    except OSError:
        return os.geteuid() if hasattr(os, "geteuid") else 0
