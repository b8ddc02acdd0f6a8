"""After a call: put the modes of granted folders back, rename what the tool left under names that programs obey, and clear the
bits and capabilities with which a file acts as its owner or as root.

No Linux sandbox can refuse a file name, so this happens when no process of the tool is left, before the locks are given up.
What was there before is known by its path with its device and inode: what only got another name or folder counts as new, whoever
owns it. What was hidden from the tool is left alone: it stays as hidden as it was. Another
program may have created such a file in the meantime, so nothing is deleted: under another name it has no effect. A file that
had them before keeps them, wherever it is now; a write takes that away by itself (chmod(2), capabilities(7)).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, field

from rye.items import autorun
from rye.limits import SANDBOX
from rye.runtime.sandbox.exposure import FOLDER, SPECIAL, Inode, Survey, inode_of, privileges
from rye.runtime.sandbox.granted import Granted
from rye.runtime.sandbox.users import User

_LISTABLE, _CHANGEABLE = 0o500, 0o700
_MAYBE_PRIVILEGED = SPECIAL | 0o111


class Swept(Struct):
    """What a tool left behind, as paths."""

    refused: list[str] = field(default_factory=list)
    """Files and folders that programs would have obeyed. They were renamed."""
    unlisted: list[str] = field(default_factory=list)
    """What could not be looked into, renamed or cleared: the call fails."""
    cleared: list[str] = field(default_factory=list)
    """Files and folders that had set-user-id, set-group-id or sticky bits or capabilities, which were cleared."""


def sweep(
    granted: Iterable[Granted], before: Iterable[Survey], user: User | None = None, project: Path | None = None
) -> Swept:
    """Sweep granted folders. ``before``: their surveys from before the call; ``user``: the one that the tool ran as, whose files
    are given to the folder's owner; ``project``: the project's own folder, where more names count."""
    swept, granted = Swept(), tuple(granted)
    for root, survey in zip(granted, before, strict=True):
        if root.is_folder:
            hidden = frozenset(located.inode for located in survey.hidden)
            _Sweep(swept, survey, hidden, user, os.fstat(root.descriptor)).folder(
                root.path, root.descriptor, root.path == project, SANDBOX.project_depth
            )
    return swept


class _Sweep(Struct, frozen=True):
    swept: Swept
    before: Survey
    hidden: frozenset[Inode]
    user: User | None
    owner: os.stat_result

    def folder(self, path: Path, descriptor: int, at_root: bool, depth: int) -> None:
        """Sweep one open folder and everything below it."""
        status = os.fstat(descriptor)
        inode = inode_of(status)
        mode = self.before.modes.get(inode)
        if mode is not None and mode != stat.S_IMODE(status.st_mode):
            with contextlib.suppress(OSError):  # what cannot be put back and cannot be listed either is reported below
                os.fchmod(descriptor, mode)
        if inode in self.hidden or self.before.obeyed.get(path) == inode:
            return
        try:
            with os.scandir(descriptor) as rows:
                entries = sorted(rows, key=lambda row: row.name)
            names = autorun.folded_names([row.name for row in entries])
            different = frozenset(names)
            at_root = at_root or autorun.is_plugin(different)
            is_git, noted = autorun.is_git_folder(different), autorun.noted(different)
            for row, name in zip(entries, names, strict=True):
                is_noted = name in noted or (is_git and name == "head")
                is_obeyed = is_noted and (name == "head" or autorun.obeyed(name, at_root=at_root) is not None)
                try:
                    self._entry(path, descriptor, row, is_obeyed, depth)
                except FileNotFoundError:
                    continue
                except OSError:
                    self.swept.unlisted.append(f"{path}/{row.name}")
        except OSError:
            self.swept.unlisted.append(str(path))
            return
        for name, target in self.before.links.get(inode, ()):
            with contextlib.suppress(OSError):  # it is still there, as nearly always
                os.symlink(target, name, dir_fd=descriptor)
                os.chown(name, self.owner.st_uid, self.owner.st_gid, dir_fd=descriptor, follow_symlinks=False)

    def _entry(self, folder: Path, descriptor: int, row: os.DirEntry[str], is_obeyed: bool, depth: int) -> None:
        status, name = row.stat(follow_symlinks=False), row.name
        is_folder = stat.S_ISDIR(status.st_mode)
        if self.user is not None and status.st_uid == self.user.number and (is_folder or status.st_nlink == 1):
            os.chown(name, self.owner.st_uid, self.owner.st_gid, dir_fd=descriptor, follow_symlinks=False)
        if is_obeyed:
            if self.before.obeyed.get(folder / name) == inode_of(status):
                return
            name = _renamed(name, descriptor)
            self.swept.refused.append(f"{folder}/{row.name}")
        if is_folder and inode_of(status) not in self.hidden:
            self._below(folder / row.name, descriptor, name, stat.S_IMODE(status.st_mode), inode_of(status), depth)
        elif status.st_mode & _MAYBE_PRIVILEGED and not is_folder:
            self._clear(folder, descriptor, row.name, name, status)

    def _clear(self, folder: Path, descriptor: int, was: str, name: str, status: os.stat_result) -> None:
        """Clear what makes a file act as somebody else than who starts it, unless it did so before. Raises OSError."""
        before = self.before.special.get(inode_of(status), 0)
        if not privileges(status, name, descriptor) & ~before:
            return
        os.chown(name, -1, -1, dir_fd=descriptor, follow_symlinks=False)  # a change of owners takes capabilities away
        _set_mode(name, descriptor, stat.S_IMODE(status.st_mode) & (~SPECIAL | before))
        now = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        is_left = privileges(now, name, descriptor) & ~before
        (self.swept.unlisted if is_left else self.swept.cleared).append(f"{folder}/{was}")

    def _below(self, path: Path, descriptor: int, name: str, mode: int, inode: Inode, depth: int) -> None:
        wanted = self.before.modes.get(inode)
        if wanted is None:
            inherited = stat.S_IMODE(os.fstat(descriptor).st_mode) & stat.S_ISGID
            wanted = mode & (~SPECIAL | inherited) | _LISTABLE
            if mode & SPECIAL & ~wanted:
                self.swept.cleared.append(str(path))
        if wanted != mode:
            _set_mode(name, descriptor, wanted)
        try:
            below = os.open(name, FOLDER, dir_fd=descriptor) if depth > 1 else -1
        except OSError:
            below = -1
        if below < 0:
            self.swept.unlisted.append(str(path))
            return
        try:
            self.folder(path, below, False, depth - 1)
        finally:
            os.close(below)


def _renamed(name: str, folder: int) -> str:
    """Give an entry another name, also in a folder whose mode refuses that. Raises OSError."""
    aside = f"refused-by-rye-{secrets.token_hex(4)}"
    mode = stat.S_IMODE(os.fstat(folder).st_mode)
    try:
        os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
    except PermissionError:
        os.fchmod(folder, mode | _CHANGEABLE)
        try:
            os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            os.fchmod(folder, mode)
    return aside


def _set_mode(name: str, folder: int, mode: int) -> None:
    """Change the mode of an entry that may not be openable, without following a link."""
    if not hasattr(os, "O_PATH"):
        with contextlib.suppress(OSError, NotImplementedError):
            os.chmod(name, mode, dir_fd=folder, follow_symlinks=False)
        return
    try:
        descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return
    try:
        with contextlib.suppress(OSError):
            os.chmod(f"/proc/self/fd/{descriptor}", mode)
    finally:
        os.close(descriptor)
