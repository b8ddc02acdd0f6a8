"""Which parts of a project a tool may read, and which parts of a granted folder it may change.

Hidden anywhere: the names of :func:`rye.items.autorun.is_secret_name`, the ``config`` files of git's folders (they hold tokens),
``.ai/runs``, and Rye's own folders and the user's keys by device and inode, wherever a link leads. The targets of hidden symbolic
links are hidden as well, and so are folders that cannot be listed, and everything beyond the first ``SANDBOX.project_entries``
entries or deeper than ``SANDBOX.project_depth`` folders.

A walk goes from descriptor to descriptor and follows no link. What it finds has a device and an inode, and a tool can use only
what still has them: what is decided here is what is mounted (:mod:`rye.runtime.sandbox.launcher`).

Linux has two ways to hide files: a mount over each hidden path, and Landlock, which only takes a list of allowed paths. So
a survey has both lists.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from rye.items import autorun
from rye.limits import SANDBOX

Below = Literal["clean", "protected", "hidden"]
"""What is the worst that a folder contains."""
Inode = tuple[int, int]
"""Device and inode: which file or folder it is, whatever its name."""
_SEARCHABLE = 0o111
_GIT_SETTINGS = ("config", "config.worktree")
FOLDER = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
"""How a folder is opened below another one: to be listed, and never through a link."""


class Located(Struct, frozen=True):
    """A file or folder, and where it was when it was judged."""

    path: Path
    inode: Inode
    is_folder: bool


class Survey(Struct, frozen=True, kw_only=True):
    """The result of one walk through a folder. Absolute paths; none is a symbolic link."""

    allowed: tuple[Located, ...]
    """Files, and folders in which nothing is refused, with everything below them."""
    listed: tuple[Located, ...]
    """Folders in which something is refused: they may be listed, and their other entries are in ``allowed``."""
    extendable: tuple[Located, ...]
    """Those of ``listed`` in which nothing is hidden, only protected: where mounts keep that, the rest of them can be changed."""
    hidden: tuple[Located, ...]
    """What must not be read."""
    protected: tuple[Located, ...]
    """What may be read but not changed, because programs obey it; empty unless the walk was with ``changing``."""
    followed: frozenset[Inode]
    """What links that programs obey lead to, and links in folders that they obey: another walk protects it."""
    links: Mapping[Inode, tuple[tuple[str, str], ...]]
    """The links that programs obey, by folder, with what each says: no mount protects a link, so they are put back."""
    obeyed: Mapping[Path, Inode]
    """Everything that programs obey and where it is, links, secrets and named files too; empty unless the walk was with
    ``changing``."""
    modes: Mapping[Inode, int]
    """The modes of the folders, to put back what a tool changes; empty unless the walk was with ``changing``."""


def inode_of(status: os.stat_result) -> Inode:
    """Device and inode of a file."""
    return status.st_dev, status.st_ino


def inode_at(path: Path) -> Inode | None:
    """What a path leads to now, without following a link; None if it leads nowhere."""
    try:
        return inode_of(path.lstat())
    except OSError:
        return None


def survey(
    root: Path,
    descriptor: int,
    covered: frozenset[Inode] = frozenset(),
    *,
    named: frozenset[Inode] = frozenset(),
    followed: frozenset[Inode] = frozenset(),
    changing: bool = False,
    is_project: bool = False,
    entries: int = SANDBOX.project_entries,
) -> Survey:
    """Walk through a folder, or judge one file. ``descriptor``: the folder or file; ``root``: its path.

    ``covered``: what is hidden whatever its name (:func:`covered_inodes`). With ``changing``, what programs obey
    (:mod:`rye.items.autorun`) is protected as well, and what their links lead to (``followed``, from the survey of the project),
    except ``named``: files that a grant names itself. ``is_project``: whether it is the project's own folder.
    """

    def walk_without(refused: frozenset[Inode]) -> _Walk:
        numbers = frozenset(number for _, number in refused)
        return _walk(
            root,
            descriptor,
            _Walk(
                covered=refused,
                numbers=numbers,
                named=named,
                followed=followed,
                followed_numbers=frozenset(number for _, number in followed),
                changing=changing,
                left=entries,
            ),
            is_project,
        )

    walk = walk_without(covered)
    behind_links = _inodes(walk.led_to) - {inode_of(os.fstat(descriptor))}  # a link to all of this leads to no secret
    if not behind_links <= covered:
        walk = walk_without(covered | behind_links)
    return Survey(
        allowed=tuple(walk.allowed),
        listed=tuple(walk.listed),
        extendable=tuple(walk.extendable),
        hidden=tuple(walk.hidden),
        protected=tuple(walk.protected),
        followed=_inodes(walk.obeyed_led_to),
        links={inode: tuple(links) for inode, links in walk.links.items()},
        obeyed=walk.obeyed,
        modes=walk.modes,
    )


def covered_inodes(folders: Iterable[Path]) -> frozenset[Inode]:
    """The folders, every folder below them, and their files that have another name as well (hard links, targets of links).

    Missing ones are left out. Raises OSError if something cannot be looked at.
    """

    def refuse(error: OSError) -> None:
        raise error

    inodes: set[Inode] = set()
    for folder in folders:
        if not folder.is_dir():
            continue
        for _, _, files, descriptor in os.fwalk(folder, onerror=refuse):
            inodes.add(inode_of(os.fstat(descriptor)))
            for name in files:
                with contextlib.suppress(FileNotFoundError):
                    status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                    if stat.S_ISLNK(status.st_mode):
                        status = os.stat(name, dir_fd=descriptor)
                        if stat.S_ISREG(status.st_mode):
                            inodes.add(inode_of(status))
                    elif status.st_nlink > 1:
                        inodes.add(inode_of(status))
    return frozenset(inodes)


def _inodes(paths: Iterable[str]) -> frozenset[Inode]:
    return frozenset(inode_of(status) for status in map(_status, paths) if status is not None)


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


class _Walk(Struct, kw_only=True):
    covered: frozenset[Inode]
    numbers: frozenset[int]
    """The inodes of ``covered`` without their devices: a listing tells an entry's for free."""
    named: frozenset[Inode]
    followed: frozenset[Inode]
    followed_numbers: frozenset[int]
    changing: bool
    left: int
    allowed: list[Located] = field(default_factory=list)
    listed: list[Located] = field(default_factory=list)
    extendable: list[Located] = field(default_factory=list)
    hidden: list[Located] = field(default_factory=list)
    protected: list[Located] = field(default_factory=list)
    led_to: list[str] = field(default_factory=list)
    obeyed_led_to: list[str] = field(default_factory=list)
    links: dict[Inode, list[tuple[str, str]]] = field(default_factory=dict)
    obeyed: dict[Path, Inode] = field(default_factory=dict)
    modes: dict[Inode, int] = field(default_factory=dict)

    def is_covered(self, number: int, folder: _Folder, name: str) -> bool:
        """Whether an entry is covered, whatever its name. ``number``: its inode, which costs nothing to know."""
        return number in self.numbers and folder.is_one_of(self.covered, name)

    def is_followed(self, number: int, folder: _Folder, name: str) -> bool:
        """Whether a link that programs obey leads to an entry."""
        return number in self.followed_numbers and folder.is_one_of(self.followed, name)


class _Folder(Struct, kw_only=True):
    """A folder while it is walked through. ``called``: its name in lower case; ``in_git``, ``in_obeyed``: whether it lies in a
    folder of git, or in one that programs obey."""

    path: Path
    descriptor: int
    called: str
    in_git: bool
    in_obeyed: bool
    at_root: bool
    depth: int
    inode: Inode = (0, 0)

    def located(self) -> Located:
        return Located(self.path, self.inode, True)

    def entry(self, name: str) -> Located | None:
        """An entry as it is now; None if it is gone."""
        try:
            status = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except OSError:
            return None
        return Located(self.path / name, inode_of(status), stat.S_ISDIR(status.st_mode))

    def is_one_of(self, inodes: frozenset[Inode], name: str) -> bool:
        """Whether an entry is one of these; yes if that cannot be found out."""
        located = self.entry(name)
        return located is None or located.inode in inodes


def _walk(root: Path, descriptor: int, walk: _Walk, is_project: bool) -> _Walk:
    status = os.fstat(descriptor)
    is_folder = stat.S_ISDIR(status.st_mode)
    whole = Located(root, inode_of(status), is_folder)
    parts = [part.casefold() for part in root.parts]
    above = parts[-2] if len(parts) > 1 else ""
    in_git = ".git" in parts[:-1]
    if whole.inode in walk.covered or _is_secret(parts[-1], in_git, above):
        walk.hidden.append(whole)
    elif (
        not is_folder
        or _enter(
            _Folder(
                path=root,
                descriptor=descriptor,
                called=parts[-1],
                in_git=in_git,
                in_obeyed=False,
                at_root=is_project,
                depth=SANDBOX.project_depth,
            ),
            walk,
        )
        == "clean"
    ):
        walk.allowed.append(whole)
    return walk


def _is_secret(name: str, in_git: bool, parent: str) -> bool:
    """Whether a name is a secret. All names in lower case; ``in_git``: somewhere below a folder of git."""
    return autorun.is_secret_name(name) or (in_git and name in _GIT_SETTINGS) or (name == "runs" and parent == ".ai")


def _enter(folder: _Folder, walk: _Walk) -> Below:
    """Walk through a folder. If something in it is refused, add it, and all its other entries, to the lists of the walk."""
    status = os.fstat(folder.descriptor)
    folder.inode = inode_of(status)
    try:
        with os.scandir(folder.descriptor) as rows:
            entries = [(row.name, row.is_symlink(), row.is_dir(follow_symlinks=False), row.inode()) for row in rows]
        if status.st_mode & _SEARCHABLE != _SEARCHABLE:
            os.stat(".", dir_fd=folder.descriptor)  # its names may be known, and nothing else of its entries
    except OSError:  # what cannot be looked at is neither readable nor writable
        walk.hidden.append(folder.located())
        return "hidden"
    walk.left -= len(entries)
    if folder.inode in walk.covered or walk.left < 0 or folder.depth == 0:
        walk.hidden.append(folder.located())
        return "hidden"
    names = frozenset(name.casefold() for name, *_ in entries)
    is_git = autorun.is_git_folder(names)
    if walk.changing and is_git:
        walk.protected.append(folder.located())
        walk.obeyed[folder.path] = folder.inode
        return "protected"
    folder.in_git = folder.in_git or is_git or folder.called == ".git"
    folder.at_root = folder.at_root or autorun.is_plugin(names)
    if walk.changing:
        walk.modes[folder.inode] = stat.S_IMODE(status.st_mode)
    clean: list[Located | str] = []
    below: set[Below] = set()
    for name, is_link, is_folder, number in entries:
        verdict = _judged(folder, walk, name, is_link, number)
        if verdict == "clean" and is_folder and not (name == "objects" and (is_git or folder.called == ".git")):
            verdict, located = _below(folder, walk, name)
            if located is not None:
                clean.append(located)
        elif verdict == "clean" and not is_link:
            clean.append(name)  # git has thousands of objects, and nobody can choose their names
        below.add(verdict)
    worst: Below = "hidden" if "hidden" in below else "protected" if "protected" in below else "clean"
    if worst != "clean":
        walk.listed.append(folder.located())
        located_now = [folder.entry(each) if isinstance(each, str) else each for each in clean]
        walk.allowed += [each for each in located_now if each is not None]
    if worst == "protected":
        walk.extendable.append(folder.located())
    return worst


def _judged(folder: _Folder, walk: _Walk, name: str, is_link: bool, number: int) -> Below:
    """What an entry is because of its name or inode; hidden and protected ones are added to the lists of the walk."""
    is_secret = _is_secret(name.casefold(), folder.in_git, folder.called)
    is_hidden = is_secret or walk.is_covered(number, folder, name)
    has_row = (walk.changing or is_link) and autorun.obeyed(name, at_root=folder.at_root) is not None
    if is_link and (has_row or folder.in_obeyed):
        walk.obeyed_led_to.append(os.path.realpath(folder.path / name))
    is_obeyed = walk.changing and (has_row or walk.is_followed(number, folder, name))
    if not is_hidden and not is_obeyed:
        return "clean"
    located = folder.entry(name)
    if is_obeyed and located is not None:
        walk.obeyed[located.path] = located.inode
    verdict: Below
    if is_hidden:
        verdict, refused = "hidden", walk.hidden
        if is_link:
            walk.led_to.append(os.path.realpath(folder.path / name))
    elif located is not None and located.inode in walk.named:
        return "clean"
    else:
        verdict, refused = "protected", walk.protected
    if located is not None and not is_link:
        refused.append(located)
    elif located is not None and is_obeyed:
        with contextlib.suppress(OSError):
            link = name, os.readlink(name, dir_fd=folder.descriptor)
            walk.links.setdefault(folder.inode, []).append(link)
    return verdict


def _below(folder: _Folder, walk: _Walk, name: str) -> tuple[Below, Located | None]:
    """Walk through a folder in another one. Returns it if nothing in it is refused."""
    try:
        descriptor = os.open(name, FOLDER, dir_fd=folder.descriptor)
    except OSError:
        located = folder.entry(name)
        if located is not None:
            walk.hidden.append(located)
        return "hidden", None
    try:
        below = _Folder(
            path=folder.path / name,
            descriptor=descriptor,
            called=name.casefold(),
            in_git=folder.in_git,
            in_obeyed=folder.in_obeyed or autorun.obeyed(name, at_root=folder.at_root) is not None,
            at_root=False,
            depth=folder.depth - 1,
        )
        verdict = _enter(below, walk)
        return verdict, below.located() if verdict == "clean" else None
    finally:
        os.close(descriptor)
