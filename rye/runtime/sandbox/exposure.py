"""Which parts of a project a tool may read, and which parts of a granted folder it may change.

Hidden anywhere: the names of :func:`rye.items.autorun.is_secret_name`, the ``config`` files of git's folders (they hold tokens),
``.ai/runs``, and Rye's own folders and the user's keys by device and inode, wherever a link leads. The targets of hidden symbolic
links and other names of hidden files (hard links) are hidden as well, also of those in hidden folders, and so are folders that
cannot be listed, and everything beyond the first ``SANDBOX.project_entries`` entries or deeper than ``SANDBOX.project_depth``
folders.

A walk goes from descriptor to descriptor and follows no link. What it finds has a device and an inode, and a tool can use only
what still has them: what is decided here is what is mounted (:mod:`rye.runtime.sandbox.launcher`).

Linux has two ways to hide files: a mount over each hidden path, and Landlock, which only takes a list of allowed paths. So
a survey has both lists.
"""

from __future__ import annotations

import contextlib
import errno
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
SPECIAL = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX
"""The bits with which a file acts as its owner, or a folder gives what is made in it to its group."""
CAPABILITIES = "security.capability"
"""The attribute with which a program gets rights of root when it starts (capabilities(7))."""
CAPABLE = 1 << 16
"""Stands beside the bits of ``SPECIAL`` for capabilities."""
_MAYBE_PRIVILEGED = SPECIAL | _SEARCHABLE
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
    covered: frozenset[Inode]
    """What hidden links lead to, and hidden files that have another name as well: other walks hide it whatever its name."""
    followed: frozenset[Inode]
    """What links that programs obey lead to, and links in folders that they obey, and files that they obey and that have another
    name as well: other walks protect it."""
    links: Mapping[Inode, tuple[tuple[str, str], ...]]
    """The links that programs obey, by folder, with what each says: no mount protects a link, so they are put back."""
    obeyed: Mapping[Path, Inode]
    """Everything that programs obey and where it is, links, secrets and named files too; empty unless the walk was with
    ``changing``."""
    modes: Mapping[Inode, int]
    """The modes of the folders, to put back what a tool changes; empty unless the walk was with ``changing``."""
    special: Mapping[Inode, int]
    """What privileges files have already (:func:`privileges`); empty unless the walk was with ``changing``."""


def inode_of(status: os.stat_result) -> Inode:
    """Device and inode of a file."""
    return status.st_dev, status.st_ino


def inode_at(path: Path) -> Inode | None:
    """What a path leads to now, without following a link; None if it leads nowhere."""
    try:
        return inode_of(path.lstat())
    except OSError:
        return None


def privileges(status: os.stat_result, name: str, folder: int) -> int:
    """With which bits of ``SPECIAL`` and ``CAPABLE`` a file acts as somebody else than who starts it; 0 for a folder or a link.
    Raises OSError."""
    mode = status.st_mode
    if stat.S_ISLNK(mode) or stat.S_ISDIR(mode):
        return 0
    is_capable = stat.S_ISREG(mode) and bool(mode & _SEARCHABLE) and _has_capabilities(name, folder)
    return mode & SPECIAL | (CAPABLE if is_capable else 0)


def _has_capabilities(name: str, folder: int) -> bool:
    if not hasattr(os, "getxattr"):  # macOS has no such attribute
        return False
    try:
        os.getxattr(f"/proc/self/fd/{folder}/{name}", CAPABILITIES, follow_symlinks=False)
    except OSError as error:
        if error.errno in (errno.ENODATA, errno.ENOTSUP):
            return False
        raise
    return True


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

    ``covered``: what is hidden whatever its name (:func:`covered_inodes`, and ``covered`` of the survey of the project). With
    ``changing``, what programs obey (:mod:`rye.items.autorun`) is protected as well, and what their links lead to (``followed``,
    from the survey of the project), except ``named``: files that a grant names itself. ``is_project``: whether it is the
    project's own folder.
    """

    def walk_without(refused: frozenset[Inode]) -> _Walk:
        return _walk(
            root,
            descriptor,
            _Walk(
                covered=refused,
                watched=frozenset(number for _, number in (*refused, *followed)),
                named=named,
                followed=followed,
                changing=changing,
                left=entries,
            ),
            is_project,
        )

    walk = walk_without(covered)
    behind = (_inodes(walk.led_to) | walk.hidden_twice) - {inode_of(os.fstat(descriptor))}
    if not behind <= covered:  # a link to all of this leads to no secret
        walk = walk_without(covered | behind)
    return Survey(
        allowed=tuple(walk.allowed),
        listed=tuple(walk.listed),
        extendable=tuple(walk.extendable),
        hidden=tuple(walk.hidden),
        protected=tuple(walk.protected),
        covered=behind,
        followed=_inodes(walk.obeyed_led_to) | walk.obeyed_twice,
        links={inode: tuple(links) for inode, links in walk.links.items()},
        obeyed=walk.obeyed,
        modes=walk.modes,
        special=walk.special,
    )


def covered_inodes(folders: Iterable[Path], root: Inode | None = None) -> frozenset[Inode]:
    """The folders, every folder below them, their files that have another name as well (hard links), and what their links
    lead to, but ``root``, the project itself: a link to all of it leads to no secret.

    Missing ones are left out. Raises OSError if something cannot be looked at.
    """

    def refuse(error: OSError) -> None:
        raise error

    inodes: set[Inode] = set()
    for folder in folders:
        if not folder.is_dir():
            continue
        for _, below, files, descriptor in os.fwalk(folder, onerror=refuse):
            inodes.add(inode_of(os.fstat(descriptor)))
            for name in (*below, *files):
                with contextlib.suppress(FileNotFoundError):
                    status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                    if stat.S_ISLNK(status.st_mode):
                        status = os.stat(name, dir_fd=descriptor)
                        if stat.S_ISREG(status.st_mode) or (stat.S_ISDIR(status.st_mode) and inode_of(status) != root):
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
    watched: frozenset[int]
    """The inodes of ``covered`` and ``followed`` without their devices: a listing tells an entry's for free."""
    named: frozenset[Inode]
    followed: frozenset[Inode]
    changing: bool
    left: int
    allowed: list[Located] = field(default_factory=list)
    listed: list[Located] = field(default_factory=list)
    extendable: list[Located] = field(default_factory=list)
    hidden: list[Located] = field(default_factory=list)
    protected: list[Located] = field(default_factory=list)
    led_to: list[str] = field(default_factory=list)
    obeyed_led_to: list[str] = field(default_factory=list)
    hidden_twice: set[Inode] = field(default_factory=set)
    """Hidden files with several names, and the same of those that programs obey."""
    obeyed_twice: set[Inode] = field(default_factory=set)
    links: dict[Inode, list[tuple[str, str]]] = field(default_factory=dict)
    obeyed: dict[Path, Inode] = field(default_factory=dict)
    modes: dict[Inode, int] = field(default_factory=dict)
    special: dict[Inode, int] = field(default_factory=dict)


class _Folder(Struct, kw_only=True):
    """A folder while it is walked through. ``called``: its folded name; ``in_git``, ``in_obeyed``: whether it lies in a folder of
    git, or in one that programs obey."""

    path: str
    descriptor: int
    called: str
    in_git: bool
    in_obeyed: bool
    at_root: bool
    depth: int
    inode: Inode = (0, 0)

    def located(self) -> Located:
        return Located(Path(self.path), self.inode, True)

    def below(self, name: str) -> Path:
        return Path(self.path, name)

    def status(self, name: str) -> os.stat_result | None:
        """An entry as it is now; None if it is gone."""
        try:
            return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except OSError:
            return None

    def entry(self, name: str) -> Located | None:
        """Where an entry is; None if it is gone."""
        status = self.status(name)
        if status is None:
            return None
        return Located(self.below(name), inode_of(status), stat.S_ISDIR(status.st_mode))


def _walk(root: Path, descriptor: int, walk: _Walk, is_project: bool) -> _Walk:
    status = os.fstat(descriptor)
    is_folder = stat.S_ISDIR(status.st_mode)
    whole = Located(root, inode_of(status), is_folder)
    parts = autorun.folded_names(root.parts[1:])
    above = parts[-2] if len(parts) > 1 else ""
    in_git = ".git" in parts[:-1]
    if whole.inode in walk.covered or _is_secret(parts[-1], in_git, above):
        walk.hidden.append(whole)
    elif (
        not is_folder
        or _enter(
            _Folder(
                path=str(root),
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
    """Whether a name is a secret. All names folded; ``in_git``: somewhere below a folder of git."""
    return autorun.is_secret_name(name) or (in_git and name in _GIT_SETTINGS) or (name == "runs" and parent == ".ai")


def _enter(folder: _Folder, walk: _Walk) -> Below:
    """Walk through a folder. If something in it is refused, add it, and all its other entries, to the lists of the walk.

    Nearly all entries have a name and an inode that nobody looks for. So the names of a folder are folded and compared at once,
    and only the others are judged one by one.
    """
    status = os.fstat(folder.descriptor)
    folder.inode = inode_of(status)
    try:
        with os.scandir(folder.descriptor) as rows:
            entries = list(rows)
        if status.st_mode & _SEARCHABLE != _SEARCHABLE:
            os.stat(".", dir_fd=folder.descriptor)  # its names may be known, and nothing else of its entries
    except OSError:  # what cannot be looked at is neither readable nor writable
        walk.hidden.append(folder.located())
        return "hidden"
    walk.left -= len(entries)
    if folder.inode in walk.covered or walk.left < 0 or folder.depth == 0:
        walk.hidden.append(folder.located())
        return "hidden"
    names = autorun.folded_names([row.name for row in entries])
    different = frozenset(names)
    is_git = autorun.is_git_folder(different)
    if walk.changing and is_git:
        walk.protected.append(folder.located())
        walk.obeyed[Path(folder.path)] = folder.inode
        return "protected"
    folder.in_git = folder.in_git or is_git or folder.called == ".git"
    folder.at_root = folder.at_root or autorun.is_plugin(different)
    if walk.changing:
        walk.modes[folder.inode] = stat.S_IMODE(status.st_mode)
    noted, watched = autorun.noted(different), walk.watched
    is_each_judged = folder.in_git or folder.in_obeyed or folder.called == ".ai"
    worst: Below = "clean"
    refused: set[str] = set()
    folders: dict[str, Inode] = {}
    for row, name in zip(entries, names, strict=True):
        verdict: Below = "clean"
        is_noted = name in noted
        if is_noted or is_each_judged or row.inode() in watched:
            verdict = _judged(folder, walk, row, name, is_noted)
        if verdict != "clean":
            refused.add(row.name)
        elif not row.is_dir(follow_symlinks=False):
            continue
        elif name == "objects" and (is_git or folder.called == ".git"):
            continue  # git has thousands of them, and nobody can choose their names
        else:
            verdict, inode = _below(folder, walk, row.name, name, is_noted)
            if inode is None:
                refused.add(row.name)
            else:
                folders[row.name] = inode
        if verdict != "clean" and worst != "hidden":
            worst = verdict
    if walk.changing:
        _note_privileged(folder, walk, entries)
    if worst != "clean":
        walk.listed.append(folder.located())
        for row in entries:
            if row.name in refused or row.is_symlink():
                continue
            inode = folders.get(row.name)
            located = folder.entry(row.name) if inode is None else Located(folder.below(row.name), inode, True)
            walk.allowed += [located] if located is not None else []
    if worst == "protected":
        walk.extendable.append(folder.located())
    return worst


def _note_privileged(folder: _Folder, walk: _Walk, entries: Iterable[os.DirEntry[str]]) -> None:
    """Remember the files that are privileged already. One that is gone, or cannot be looked at, has nothing to keep."""
    for row in entries:
        with contextlib.suppress(OSError):
            status = row.stat(follow_symlinks=False)
            if status.st_mode & _MAYBE_PRIVILEGED and (own := privileges(status, row.name, folder.descriptor)):
                walk.special[inode_of(status)] = own


def _judged(folder: _Folder, walk: _Walk, row: os.DirEntry[str], name: str, is_noted: bool) -> Below:
    """What an entry is because of its name or inode; hidden and protected ones are added to the lists of the walk. ``name``:
    folded; ``is_noted``: whether the table may have it."""
    is_link = row.is_symlink()
    has_row = is_noted and autorun.obeyed(name, at_root=folder.at_root) is not None
    is_within = folder.in_obeyed or folder.in_git
    status = folder.status(row.name)
    inode = inode_of(status) if status is not None else None
    is_hidden = _is_secret(name, folder.in_git, folder.called) or _is_one_of(walk.covered, walk, row, inode)
    if is_link and (has_row or is_within):
        walk.obeyed_led_to.append(os.path.realpath(folder.below(row.name)))
    if status is not None and inode is not None and stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        if is_hidden:
            walk.hidden_twice.add(inode)
        if has_row or is_within:
            walk.obeyed_twice.add(inode)
    is_obeyed = walk.changing and (has_row or _is_one_of(walk.followed, walk, row, inode))
    if not is_hidden and not is_obeyed:
        return "clean"
    if is_obeyed and inode is not None:
        walk.obeyed[folder.below(row.name)] = inode
    if is_link and is_hidden:
        walk.led_to.append(os.path.realpath(folder.below(row.name)))
    if not is_hidden and inode in walk.named:
        return "clean"
    verdict: Below = "hidden" if is_hidden else "protected"
    if status is not None and inode is not None and not is_link:
        located = Located(folder.below(row.name), inode, stat.S_ISDIR(status.st_mode))
        (walk.hidden if is_hidden else walk.protected).append(located)
        if is_hidden and located.is_folder and autorun.is_secret_name(name):  # not .ai/runs, which can be large
            _note_behind(walk, row.name, folder.descriptor, str(located.path), folder.depth - 1)
    elif is_link and is_obeyed:
        with contextlib.suppress(OSError):
            link = row.name, os.readlink(row.name, dir_fd=folder.descriptor)
            walk.links.setdefault(folder.inode, []).append(link)
    return verdict


def _note_behind(walk: _Walk, name: str, above: int, path: str, depth: int) -> None:
    """Note what the links in a hidden folder lead to, and its files that have another name as well."""
    with contextlib.suppress(OSError):  # what cannot be looked at here is hidden with the folder
        descriptor = os.open(name, FOLDER, dir_fd=above)
        try:
            with os.scandir(descriptor) as rows:
                entries = list(rows)
            walk.left -= len(entries)
            for row in entries if walk.left >= 0 and depth > 0 else ():
                if row.is_symlink():
                    walk.led_to.append(os.path.realpath(f"{path}/{row.name}"))
                elif row.is_dir(follow_symlinks=False):
                    _note_behind(walk, row.name, descriptor, f"{path}/{row.name}", depth - 1)
                elif (status := row.stat(follow_symlinks=False)).st_nlink > 1:
                    walk.hidden_twice.add(inode_of(status))
        finally:
            os.close(descriptor)


def _is_one_of(inodes: frozenset[Inode], walk: _Walk, row: os.DirEntry[str], inode: Inode | None) -> bool:
    """Whether an entry is one of these; yes if it may be and cannot be looked at."""
    return inode in inodes if inode is not None else row.inode() in walk.watched


def _below(folder: _Folder, walk: _Walk, name: str, called: str, is_noted: bool) -> tuple[Below, Inode | None]:
    """Walk through a folder in another one. Returns its inode if nothing in it is refused."""
    try:
        descriptor = os.open(name, FOLDER, dir_fd=folder.descriptor)
    except OSError:
        located = folder.entry(name)
        if located is not None:
            walk.hidden.append(located)
        return "hidden", None
    try:
        below = _Folder(
            path=f"{folder.path}/{name}",
            descriptor=descriptor,
            called=called,
            in_git=folder.in_git,
            in_obeyed=folder.in_obeyed or (is_noted and autorun.obeyed(called, at_root=folder.at_root) is not None),
            at_root=False,
            depth=folder.depth - 1,
        )
        verdict = _enter(below, walk)
        return verdict, below.inode if verdict == "clean" else None
    finally:
        os.close(descriptor)
