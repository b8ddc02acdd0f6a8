"""After a call: put the modes of granted folders back, and rename what the tool left under names that programs obey.

No Linux sandbox can refuse a file name, so this happens when no process of the tool is left, before the locks are given up.
What was there before is known by its path with its device and inode: what only got another name or folder counts as new, whoever
owns it. What was hidden from the tool is left alone: it stays as hidden as it was. Another
program may have created such a file in the meantime, so nothing is deleted: under another name it has no effect.
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
from rye.runtime.sandbox.exposure import FOLDER, Inode, Survey, inode_of
from rye.runtime.sandbox.granted import Granted
from rye.runtime.sandbox.users import User

_LISTABLE, _CHANGEABLE = 0o500, 0o700


class Swept(Struct):
    """What a tool left behind, as paths."""

    refused: list[str] = field(default_factory=list)
    """Files and folders that programs would have obeyed. They were renamed."""
    unlisted: list[str] = field(default_factory=list)
    """What could not be looked into or renamed: the call fails."""


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
                names = sorted(row.name for row in rows)
        except OSError:
            self.swept.unlisted.append(str(path))
            return
        folded = frozenset(map(str.casefold, names))
        at_root = at_root or autorun.is_plugin(folded)
        is_git = autorun.is_git_folder(folded)
        for name in names:
            obeyed = (is_git and name.casefold() == "head") or autorun.obeyed(name, at_root=at_root) is not None
            try:
                self._entry(path, descriptor, name, obeyed, depth)
            except FileNotFoundError:
                continue
            except OSError:
                self.swept.unlisted.append(str(path / name))
        for name, target in self.before.links.get(inode, ()):
            with contextlib.suppress(OSError):  # it is still there, as nearly always
                os.symlink(target, name, dir_fd=descriptor)
                os.chown(name, self.owner.st_uid, self.owner.st_gid, dir_fd=descriptor, follow_symlinks=False)

    def _entry(self, folder: Path, descriptor: int, name: str, is_obeyed: bool, depth: int) -> None:
        status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        is_folder, inode = stat.S_ISDIR(status.st_mode), inode_of(status)
        if self.user is not None and status.st_uid == self.user.number and (is_folder or status.st_nlink == 1):
            os.chown(name, self.owner.st_uid, self.owner.st_gid, dir_fd=descriptor, follow_symlinks=False)
        path = folder / name
        if self.before.obeyed.get(path) == inode:
            return
        if is_obeyed:
            name = _renamed(name, descriptor)
            self.swept.refused.append(str(path))
        if is_folder and inode not in self.hidden:
            self._below(path, descriptor, name, stat.S_IMODE(status.st_mode), inode, depth)

    def _below(self, path: Path, descriptor: int, name: str, mode: int, inode: Inode, depth: int) -> None:
        wanted = self.before.modes.get(inode, mode | _LISTABLE)
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
    """Change the mode of a folder that may not be openable, without following a link."""
    if not hasattr(os, "O_PATH"):
        with contextlib.suppress(OSError, NotImplementedError):
            os.chmod(name, mode, dir_fd=folder, follow_symlinks=False)
        return
    try:
        descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_DIRECTORY, dir_fd=folder)
    except OSError:
        return
    try:
        with contextlib.suppress(OSError):
            os.chmod(f"/proc/self/fd/{descriptor}", mode)
    finally:
        os.close(descriptor)
