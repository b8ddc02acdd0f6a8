"""The folders and files that one call may change, opened once below the project's descriptor, and locked for the call.

A granted path is a name that tools can change. So each of its parts is opened below the one before, following no link, and from
then on the survey, the sandbox's walls and the sweep use the descriptor, or check that they have the same device and inode.

Two calls whose grants overlap do not run at the same time, in this process or another: a call holds a shared lock on every folder
on the way and an exclusive one on what it may change (flock(2), which is on the folder itself). Everyone locks in the order of
the paths, so nobody waits in a circle.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Event

from msgspec import Struct

from rye.errors import RyeError
from rye.items import autorun
from rye.runtime.sandbox.exposure import FOLDER, Inode, inode_of
from rye.runtime.sandbox.profile import Profile
from rye.runtime.sandbox.tool_run import SandboxUnavailable

try:
    import fcntl
except ImportError:  # Windows has no sandbox either
    fcntl = None  # type: ignore[assignment]

_POLL_SECONDS = 0.02
_FILE = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class Granted(Struct, frozen=True):
    """An open folder or file. The descriptor is valid until the call ends."""

    path: Path
    descriptor: int
    inode: Inode
    is_folder: bool
    above: tuple[Inode, ...] = ()
    """The folders between the project's and this one."""


class Opened(Struct, frozen=True):
    """What a call has open: the project's folder, and what it may change."""

    project: Granted
    writes: tuple[Granted, ...]


@contextlib.contextmanager
def opened(profile: Profile, cancel: Event) -> Iterator[Opened]:
    """Open and lock the project and the granted paths; missing granted folders are created.

    Raises SandboxUnavailable for a path that is missing, contains a symbolic link, or cannot be listed; RyeError ``in-use`` if
    another call keeps its lock for longer than this call may take, ``cancelled``.
    """
    with contextlib.ExitStack() as stack:
        opening = _Opening(profile, cancel, stack)
        project = opening.project()
        writes = tuple(opening.granted(path) for path in sorted(profile.write))
        yield Opened(project, writes)


@contextlib.contextmanager
def reopened(
    project: Path, paths: Iterable[Path], seconds: float, cancel: Event
) -> Iterator[Callable[[Path], Granted | None]]:
    """Open and lock paths that an earlier call might change, to sweep them. Yields a function that does so with one path, whose
    answer is None if it is missing or contains a symbolic link. ``seconds``: how long it waits for another call.

    Raises RyeError ``in-use``.
    """
    profile = Profile(project=project, work=project, deny=(), write=tuple(paths), seconds=seconds)
    with contextlib.ExitStack() as stack:
        opening = _Opening(profile, cancel, stack)
        opening.project()

        def reopen(path: Path) -> Granted | None:
            try:
                return opening.granted(path, is_new=False)
            except SandboxUnavailable:
                return None

        yield reopen


class _Opening:
    """Opens paths one after the other. Each folder is opened and locked once, however many grants lie below it."""

    def __init__(self, profile: Profile, cancel: Event, stack: contextlib.ExitStack):
        self._profile = profile
        self._cancel = cancel
        self._stack = stack
        self._deadline = time.monotonic() + profile.seconds
        self._open: dict[Path, Granted] = {}
        self._locked_whole: list[Path] = []

    def project(self) -> Granted:
        """Open the project's folder. Its path is real and no tool can change what lies above it."""
        root = self._profile.project
        try:
            return self._keep(root, os.open(root, FOLDER))
        except OSError as error:
            raise SandboxUnavailable(f"The project's folder {root} cannot be listed: {error.strerror}.") from None

    def granted(self, path: Path, is_new: bool = True) -> Granted:
        """Open one granted path, part by part. ``is_new``: whether a tool is about to use it, so that it may be refused."""
        root = self._profile.project
        parts = path.relative_to(root).parts
        for number in range(1, len(parts) + 1):
            if is_new:
                self._refuse_obeyed(Path(root, *parts[: number - 1]), parts[number - 1], grant=path)
            self._part(Path(root, *parts[:number]), is_last=number == len(parts), grant=path)
        if not parts:
            self._lock(self._open[root], whole=True)
        return self._open[path]

    def _refuse_obeyed(self, above: Path, name: str, grant: Path) -> None:
        """Refuse what programs obey because of what lies beside it, which the grant's words do not show: in a folder of git,
        or a part of a plugin."""
        names = frozenset(autorun.folded_names([*os.listdir(self._open[above].descriptor), name]))
        row = autorun.obeyed(name, at_root=autorun.is_plugin(names), builds=False)
        by = "git" if autorun.is_git_folder(names) else row.obeyed_by if row is not None else None
        if by is not None:
            raise never_granted(grant, f"{above / name} is obeyed by {by}")

    def _part(self, path: Path, is_last: bool, grant: Path) -> None:
        if path in self._open:
            if is_last:
                self._lock(self._open[path], whole=True)
            return
        above = self._open[path.parent]
        self._lock(above, whole=False)
        is_folder = not is_last or grant in self._profile.folders
        try:
            if grant in self._profile.folders:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(path.name, dir_fd=above.descriptor)
            descriptor = os.open(path.name, FOLDER if is_folder else _FILE, dir_fd=above.descriptor)
        except OSError as error:
            raise _unusable(grant, error.strerror or str(error)) from None
        granted = self._keep(path, descriptor)
        if is_last:
            mode = os.fstat(descriptor).st_mode
            if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                raise _unusable(grant, "it is neither a file nor a folder")
            self._lock(granted, whole=True)
            try:
                now = os.stat(path.name, dir_fd=above.descriptor, follow_symlinks=False)
            except OSError:
                raise changed(path) from None
            if inode_of(now) != granted.inode:  # another call moved it before this one had the lock
                raise changed(path)

    def _keep(self, path: Path, descriptor: int) -> Granted:
        self._stack.callback(os.close, descriptor)
        status = os.fstat(descriptor)
        above = self._open.get(path.parent)
        between = (*above.above, above.inode) if above is not None and above.path != self._profile.project else ()
        granted = Granted(path, descriptor, inode_of(status), stat.S_ISDIR(status.st_mode), between)
        self._open[path] = granted
        return granted

    def _lock(self, granted: Granted, whole: bool) -> None:
        """Lock a folder or file, ``whole`` or only against those who would lock all of it. A grant inside a granted folder has
        its lock already."""
        if fcntl is None or any(granted.path.is_relative_to(path) for path in self._locked_whole):
            return
        kind = fcntl.LOCK_EX if whole else fcntl.LOCK_SH
        while True:
            try:
                fcntl.flock(granted.descriptor, kind | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if self._cancel.is_set():
                    raise RyeError("cancelled", "The call was cancelled while it waited for another tool.") from None
                if time.monotonic() > self._deadline:
                    raise in_use(granted.path) from None
                self._cancel.wait(_POLL_SECONDS)
            except OSError as error:
                raise SandboxUnavailable(
                    f"{granted.path} cannot be locked ({error.strerror}), so two tools could change it at once.",
                    "Use a project on a file system with locks, or remove the write grant.",
                ) from None
        if whole:
            self._locked_whole.append(granted.path)


def in_use(path: Path) -> RyeError:
    """The error if another call may change the same files."""
    return RyeError(
        "in-use",
        f"Another tool that may change {path} is still running.",
        "Call this tool again when the other one has ended.",
        what="granted folder",
    )


def never_granted(grant: Path, why: str) -> SandboxUnavailable:
    """The error if a tool would write what programs obey, although the words of the grant do not show it."""
    return SandboxUnavailable(
        f"The granted path {grant} can never be granted: {why}.", "Grant another path in [sandbox] of rye.toml."
    )


def changed(path: Path | str) -> RyeError:
    """The error if a granted path is no longer what was looked at."""
    return RyeError(
        "grant-changed",
        f"{path} was replaced while the call was being prepared, so nothing was started.",
        "Call the tool again. If it happens again, find out which program changes this folder.",
    )


def _unusable(path: Path, why: str) -> SandboxUnavailable:
    return SandboxUnavailable(
        f"The granted path {path} cannot be used: it does not exist, contains a symbolic link, or cannot be listed ({why}).",
        "Create it as a real folder or file, or grant another path in [sandbox] of rye.toml.",
    )
