"""A folder that was opened once, without following links, and what is read, written, moved and removed in it.

All of it happens in the folder that was opened, whatever takes its place meanwhile: a link that appears on the way leads nowhere.
Where the system has no calls that work below an open folder, paths are checked for links and then used.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct

from rye.errors import RyeError
from rye.storage.atomic import replace_file
from rye.storage.safe_files import LockTimeout, file_lock, open_regular, refuse_links, remove_tree

if TYPE_CHECKING:
    from io import BufferedReader

_WORKS_BELOW = {os.open, os.mkdir, os.rename, os.stat} <= os.supports_dir_fd
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
"""As with a path, nobody need be able to list the folders."""
_POLL_SECONDS = 0.05


class OpenedFolder(Struct, frozen=True):
    """``path``: where it was when it was opened, for messages. Names are those of files and folders directly in it."""

    path: Path
    descriptor: int | None
    """None where the system cannot work below an open folder."""

    def place(self, name: str) -> str:
        """The name for calls that take a ``dir_fd``; the path without."""
        return name if self.descriptor is not None else f"{self.path}{os.sep}{name}"

    @contextmanager
    def below(self, folder: str, *, make: bool = False) -> Iterator[OpenedFolder]:
        """Yield a folder below this one, which stays open for the block. ``folder``: with ``/``; empty for this one itself.
        ``make``: whether to create what is missing of it.

        Raises RyeError ``symlink-in-the-way``, ``unsafe-path``, and OSError: NotADirectoryError for a file on the way."""
        path, parts = self.path / folder, [part for part in folder.split("/") if part]
        if {".", ".."} & set(parts):
            raise RyeError("unsafe-path", f"{folder!r} points outside {str(self.path)!r}.")
        if self.descriptor is None:
            refuse_links(self.path, path)
            if make:
                os.makedirs(path, exist_ok=True)
            yield OpenedFolder(path, None)
            return
        here, reached = os.dup(self.descriptor), 0
        try:
            for part in parts:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=here)
                try:
                    below = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=here)
                except OSError:
                    refuse_links(self.path, path)
                    raise
                os.close(here)
                here, reached = below, reached + 1
            yield OpenedFolder(path, here)
        except OSError as error:
            _tell_where(error, self.path.joinpath(*parts[:reached]))
            raise
        finally:
            os.close(here)

    @contextmanager
    def around(self, path: str, *, make: bool = False) -> Iterator[tuple[OpenedFolder, str]]:
        """Yield the folder that something below this one is in, and its name there. Raises as :meth:`below` does."""
        above, _, name = path.rpartition("/")
        if not above:
            yield self, name
            return
        with self.below(above, make=make) as folder:
            yield folder, name

    def status(self, name: str) -> os.stat_result | None:
        """What is there, if only a link; None: nothing. Raises OSError."""
        try:
            return os.stat(self.place(name), dir_fd=self.descriptor, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def holds(self, name: str) -> bool:
        """Whether there is something of this name, if only a link. Raises OSError."""
        return self.status(name) is not None

    def has_folder(self, name: str) -> bool:
        """Whether there is a folder of this name. Raises OSError."""
        found = self.status(name)
        return found is not None and stat.S_ISDIR(found.st_mode)

    def names(self) -> list[str]:
        """The names of what is in it. Raises OSError."""
        if self.descriptor is None:
            return os.listdir(self.path)
        listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self.descriptor)
        try:
            return os.listdir(listed)
        finally:
            os.close(listed)

    def open(self, name: str) -> BufferedReader:
        """Open a regular file for reading. Raises OSError, also if it is not one."""
        if self.descriptor is None and os.path.islink(self.place(name)):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        return open_regular(self.place(name), self.descriptor)

    def has(self, name: str, data: bytes | None) -> bool:
        """Whether a regular file has exactly these bytes (None: nothing is there). What cannot be read has not."""
        try:
            with self.open(name) as stream:
                return data is not None and stream.read(len(data) + 1) == data
        except FileNotFoundError:
            return data is None
        except OSError:  # a link, or a folder
            return False

    def create(self, name: str, mode: int = 0o666) -> BinaryIO:
        """Create a file. Raises OSError, also if something is there."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        return os.fdopen(os.open(self.place(name), flags, mode, dir_fd=self.descriptor), "wb")

    def replace(self, name: str, data: bytes, *, mode: int | None = None) -> None:
        """Write a file so that readers see its old or its new bytes. ``mode``: instead of what it has. Raises OSError."""
        replace_file(Path(self.place(name)), data, folder=self.descriptor, mode=mode)

    def keep(self, name: str, data: bytes, *, mode: int | None = None) -> str:
        """Write a new file under the first of ``name``, ``name.1``, ``name.2`` … that is free, and return that. ``mode``: instead
        of what a new file has. Raises OSError."""
        free, number = name, 0
        while True:
            try:
                self.create(free, 0o666 if mode is None else 0o600).close()
            except FileExistsError:
                number += 1
                free = f"{name}.{number}"
                continue
            self.replace(free, data, mode=mode)
            return free

    def move(self, name: str, to: OpenedFolder, new: str) -> None:
        """Give something another place, where a file or an empty folder is replaced. Raises OSError."""
        try:
            os.replace(self.place(name), to.place(new), src_dir_fd=self.descriptor, dst_dir_fd=to.descriptor)
        except OSError as error:
            _tell_where(error, self.path, to.path)
            raise

    def unlink(self, name: str) -> None:
        """Remove a file or link. Raises OSError."""
        os.unlink(self.place(name), dir_fd=self.descriptor)

    def rmdir(self, name: str) -> None:
        """Remove an empty folder. Raises OSError."""
        os.rmdir(self.place(name), dir_fd=self.descriptor)

    def remove(self, name: str) -> None:
        """Remove a file, or a folder with all that is in it, if it is there. What cannot be removed is left."""
        remove_tree(self.place(name), self.descriptor)

    def remove_empty(self, folder: str) -> bool:
        """Remove a folder below this one if it is empty; whether it is gone now."""
        try:
            with self.around(folder) as (above, name):
                above.rmdir(name)
        except (OSError, RyeError):
            return False
        return True

    @contextmanager
    def emptied(self, name: str) -> Iterator[OpenedFolder]:
        """Yield a new empty folder in the place of what is there."""
        self.remove(name)
        os.mkdir(self.place(name), dir_fd=self.descriptor)
        with self.below(name) as folder:
            yield folder

    def sync(self) -> None:
        """Wait until the names in the folder are on the disk."""
        descriptor = os.open(self.place("."), os.O_RDONLY, dir_fd=self.descriptor)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def locked(self, name: str, seconds: float) -> Iterator[None]:
        """Hold the lock of this name for the block, waiting at most ``seconds``; as :func:`file_lock` does, which it shuts out.
        Raises LockTimeout, and OSError: also for a link in the file's place."""
        with ExitStack() as held:
            if self.descriptor is None:
                held.enter_context(file_lock(self.path / name, seconds))
            else:
                self._lock(name, seconds, held)
            yield

    @contextmanager
    def alone(self, seconds: float) -> Iterator[None]:
        """Hold the folder itself for the block, so that of several runs one writes at a time, waiting at most ``seconds``. No
        file is left behind. A folder that the system cannot lock, or this user cannot list, is not held. Raises LockTimeout."""
        with ExitStack() as held:
            if self.descriptor is not None:
                try:
                    self._lock(".", seconds, held, os.O_RDONLY | os.O_DIRECTORY)
                except LockTimeout:
                    raise
                except OSError:
                    pass
            yield

    def _lock(
        self,
        name: str,
        seconds: float,
        held: ExitStack,
        flags: int = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0),
    ) -> None:
        from filelock import lock_descriptor  # slow to import, and only needed by code that writes

        descriptor = os.open(name, flags | os.O_CLOEXEC, 0o644, dir_fd=self.descriptor)
        held.callback(os.close, descriptor)  # which gives the lock back
        until = time.monotonic() + seconds
        while not lock_descriptor(descriptor, blocking=False):
            if time.monotonic() >= until:
                raise LockTimeout(f"another program holds {self.path / name}")
            time.sleep(_POLL_SECONDS)


def _tell_where(error: OSError, folder: Path, second: Path | None = None) -> None:
    """Let an error about a name in an opened folder name the whole path, which people are told. ``second``: the folder of the
    second name, if it is about two."""
    for kind, place in (("filename", folder), ("filename2", second or folder)):
        name = getattr(error, kind)
        if isinstance(name, str) and not os.path.isabs(name):
            setattr(error, kind, str(place / name))


@contextmanager
def opened_folder(root: Path, folder: str = "", *, make: bool = False) -> Iterator[OpenedFolder]:
    """Open a folder below ``root``, whose own path may lead through links. The rest as :meth:`OpenedFolder.below`.

    Raises RyeError ``symlink-in-the-way``, and OSError."""
    descriptor = os.open(root, _FOLDER) if _WORKS_BELOW else None
    try:
        with OpenedFolder(root, descriptor).around(f"{folder}/" if folder else "", make=make) as (opened, _):
            yield opened
    except OSError as error:
        _tell_where(error, root)
        raise
    finally:
        if descriptor is not None:
            os.close(descriptor)
