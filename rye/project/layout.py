"""The layout of files and folders in a project and in the user's own space (DESIGN §1, §6), and the reading of a project file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError
from rye.limits import PROJECT
from rye.project.member_patterns import claimed_by, unreadable_root
from rye.project.ownership import refuse_foreign
from rye.storage.safe_files import open_regular, read_bytes

MANIFEST = "rye.toml"
LOCK = "rye.lock"


class Project(Struct, frozen=True):
    """A folder with a ``rye.toml`` or an ``.ai`` folder; only this class builds paths in it."""

    root: Path

    @classmethod
    def find(cls, start: str | os.PathLike[str]) -> Project:
        """The project around a folder (:func:`find_project`). Raises RyeError ``no-project``, ``no-manifest``."""
        project = find_project(Path(start))
        if project is None and Path(start, LOCK).is_file():
            raise no_manifest()
        if project is None:
            raise RyeError(
                "no-project",
                "There is no rye.toml in this folder or above it.",
                "Change to your project's folder, or create a project here with `rye init`.",
            )
        return project

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
    def has_deployed(self) -> bool:
        """Whether files for agent programs were written from this project (:mod:`rye.deployment.state`). Their record is opened,
        so that :mod:`rye.cli.unchanged` notes it; what is there and is none is for its reader to refuse."""
        try:
            with open_regular(self.ai / "deploy.lock"):
                return True
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True

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
    """Return the project whose ``.ai/packages`` the file is in, and the file's path in that project; None for other files.

    Both the path as given and the resolved path count, because ``.ai`` can be a link to a folder with another name. This checks
    the parent folders of both paths and the project around ``cwd``. Only locations count: a ``rye.toml`` among the installed
    files does not make them a project.
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
    """Return the device and inode of a folder; None if it does not exist."""
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def no_manifest() -> RyeError:
    """The error for a lock or installed items without a rye.toml."""
    return RyeError(
        "no-manifest",
        "rye.toml is missing, but there is a rye.lock or there are installed items.",
        "Restore it with `git checkout rye.toml`, or start without dependencies with `rye init`.",
    )


def find_project(start: Path) -> Project | None:
    """Return the nearest folder at or above ``start`` with a ``rye.toml``, otherwise the nearest with an ``.ai`` folder, or None.

    If a ``rye.toml`` further up names that folder as a workspace member, the result is that workspace's root. Both files must
    have the same owner, so that no one can capture a project with a file in a world-writable folder.

    The home folder only counts if it has a ``rye.toml`` or is ``start`` itself, so that ``~/.ai`` does not make it a project.

    Raises RyeError ``foreign-project`` if it belongs to another user, and ``linked-outside`` if its ``.ai`` leads out of it
    (:mod:`rye.project.ownership`).
    """
    project = _nearest(start)
    if project is not None:
        refuse_foreign(project.root)
    return project


def _nearest(start: Path) -> Project | None:
    start = Path(os.path.abspath(start))  # without "..", so that `parents` are the real ones
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
    """Return the folder further up whose ``rye.toml`` names this folder as a member, or None. The member need not exist yet.

    Raises RyeError ``bad-manifest`` for a file that may do so but cannot be read.
    """
    owner: int | None = None
    for folder in member.parents:
        try:
            descriptor = os.open(folder / MANIFEST, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            continue
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            owner = _owner(member / MANIFEST) if owner is None else owner
            if not stat.S_ISREG(status.st_mode) or status.st_uid != owner:
                continue
            data = stream.read(PROJECT.manifest_bytes)
        try:
            claimed = claimed_by(data, member.relative_to(folder).as_posix())
        except ValueError as error:
            raise unreadable_root(str(folder / MANIFEST), error) from None
        if claimed:
            return folder
    return None


def _owner(file: Path) -> int:
    """Return a file's owner; for a missing file, this user."""
    try:
        return os.stat(file).st_uid
    except OSError:
        return os.geteuid() if hasattr(os, "geteuid") else 0


def is_committed_place(folder: Path, path: Path) -> bool:
    """Whether who can commit to a project's folder decides what is there: the path ends in the folder or in the checkout that
    it is a part of, or a link there leads it elsewhere.
    """
    root = folder.resolve()
    checkout = next((each for each in (root, *root.parents) if os.path.lexists(each / ".git")), root)
    place = Path(root.anchor)
    for part in path.absolute().parts[1:]:
        place = place.parent if part == ".." else place / part
        if os.path.islink(place):
            if place.is_relative_to(checkout):
                return True
            place = place.resolve()
    return place.is_relative_to(checkout)


def is_in_checkout(folder: Path) -> bool:
    """Whether the folder is in a checkout of git, which may change line ends."""
    here = folder.absolute()
    return any(os.path.lexists(each / ".git") for each in (here, *here.parents))


def read_project_file(path: Path, limit: int) -> bytes | None:
    """Return the file's bytes; None if it does not exist. Raises RyeError ``not-a-file``, ``unreadable`` or ``file-too-large``.

    A link is followed, since people link rye.toml; a device or pipe at its end is refused.
    """
    try:
        data = read_bytes(path, limit)
    except RyeError as error:
        if error.code == "no-such-file":
            return None
        raise
    if len(data) > limit:
        raise RyeError(
            "file-too-large",
            f"{str(path)!r} is larger than {limit:,} bytes.",
            "Rye never writes a file this large. Restore it from version control.",
        )
    return data
