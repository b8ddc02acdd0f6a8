"""Where the bytes of static files and blobs are stored: a local folder, or a bucket of an S3-compatible service.

The methods of :class:`Objects` are the whole interface. ``put`` returns only when the object is durable, and replaces
it atomically: a reader sees the old object or the new one, never a part. Paths are relative, made of the protocol's
safe segments, and come from code, not from requests (:mod:`registry_server.storage.served` checks those first).

Errors: ``storage-full`` (a full disk, quota or bucket), ``store-credentials``, ``store-silent`` (no answer in time),
``store-unavailable``; never one of the library's own.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Protocol

from registry_server.storage.durable import Durable, system_syncfs
from registry_server.storage.store_seam import ABSENT, ChangedError, portions, unless_changed
from rye.errors import RyeError

_SYNCFS = system_syncfs()


Tagged = Callable[[], tuple[bytes | None, str]]
"""What a read that has begun will return: bytes and tag."""


class Objects(Protocol):
    """A store of named byte strings."""

    is_local: bool
    """Whether ``get`` is fast enough to be called from the event loop."""

    def is_awaited(self, thread: int) -> bool:
        """Whether this thread waits for a request, which has a time limit."""

    def get(self, path: str) -> bytes | None:
        """Return the object's bytes; None if it does not exist."""

    def get_all(self, paths: Sequence[str]) -> list[bytes | None]:
        """Return the bytes of several objects, read concurrently where that is faster."""

    def get_tagged(self, path: str) -> tuple[bytes | None, str]:
        """Return the object's bytes and the tag of this version, for ``replace``; ``(None, ABSENT)`` if it does not
        exist.
        """

    def get_tagged_soon(self, path: str) -> Tagged:
        """Begin :meth:`get_tagged`; the caller works on meanwhile, and calls what this returns for the result or the error."""

    def now(self) -> float | None:
        """Ask the store for its own time, in seconds since 1970; None if it has no clock but this machine's."""

    def put(self, path: str, content: bytes) -> None:
        """Write the object, replacing an older one."""

    def replace(self, path: str, content: bytes, tag: str) -> str:
        """Write the object if it still has this tag; returns the new tag. Raises ChangedError.

        After a power cut the object can be the previous version; a caller that needs the newest compares it with the
        database.
        """

    def replace_all(self, objects: Sequence[tuple[str, bytes, str]]) -> list[str | None]:
        """:meth:`replace` for each, at the same time where that is faster; returns the new tags, None for one that changed."""

    def put_all(self, objects: Iterable[tuple[str, bytes]], ahead: Sequence[tuple[str, bytes]] = ()) -> None:
        """Write several objects, all durable when it returns; those that exist with the same bytes are not written
        again.

        The bytes of tiles are compared as well: a tile may be left over from a batch that was not committed. ``ahead``:
        what ``replace`` will write next, so that a folder can make all of it durable at once.
        """

    def put_soon(self, path: str, content: bytes) -> None:
        """Write the object, replacing an older one. Until :meth:`settle` has returned, a power cut may lose it."""

    def settle(self, paths: Sequence[str]) -> None:
        """Make what ``put_soon`` wrote durable."""

    def remembered(self, paths: Iterable[str]) -> list[tuple[str, bytes, float]]:
        """Return path, bytes and time of those objects that this process wrote by ``put_soon`` and still has in memory."""

    def remember(self, objects: Iterable[tuple[str, bytes, float]]) -> None:
        """Keep what another process of this server remembers, so that it need not be asked for."""

    def take_all(self, other: Objects, moves: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Copy settled objects of another store to a path here, without reading them; ``moves`` are pairs (path there,
        path here).

        They are durable with the next ``put_all``. Returns the pairs that cannot be copied this way; the caller reads
        and writes those.
        """

    def delete(self, path: str) -> None:
        """Remove the object, if it exists."""

    def delete_all(self, paths: Iterable[str]) -> None:
        """Remove the objects that exist, in as few requests as possible."""

    def listing(self, prefix: str = "") -> Iterator[tuple[str, int, float]]:
        """Yield ``(path, size, modification time)`` for every object below ``prefix`` (a folder's path, or empty)."""

    def modified(self, path: str) -> float | None:
        """Return when the object was last written, or found unchanged by ``put_all``; None if it does not exist."""

    def modified_all(self, paths: Sequence[str]) -> list[float | None]:
        """Return the same for several objects, asked concurrently where that is faster."""

    def make_older(self, path: str, modified: float) -> None:
        """Give the object an earlier time of modification, if it exists. A bucket sets all times itself, and keeps it."""


class Folder:
    """A local folder, which any web server can serve, unless it is ``private``: then other users cannot enter it."""

    is_local = True

    def __init__(self, root: Path, *, private: bool = False) -> None:
        self.root = root
        self._place = str(root)
        self._durable = Durable(root, _SYNCFS, 0o700 if private else 0o755)

    def is_awaited(self, thread: int) -> bool:
        """False: a disk has no time limit."""
        del thread
        return False

    def get(self, path: str) -> bytes | None:
        """Read the file; None for a missing one, and for a folder."""
        try:
            with open(f"{self._place}/{path}", "rb", buffering=0) as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            raise _disk_error(error, path) from error

    def get_all(self, paths: Sequence[str]) -> list[bytes | None]:
        """Read the files one after the other: a local disk answers fast enough."""
        return [self.get(path) for path in paths]

    def get_tagged(self, path: str) -> tuple[bytes | None, str]:
        """The tag is the SHA-256 of the content, in hex."""
        content = self.get(path)
        return content, ABSENT if content is None else hashlib.sha256(content).hexdigest()

    def get_tagged_soon(self, path: str) -> Tagged:
        """Read the file when the result is wanted: it takes no time to wait for."""
        return partial(self.get_tagged, path)

    def now(self) -> None:
        """A folder has no clock of its own."""

    def put(self, path: str, content: bytes) -> None:
        """Write the file; durable when it returns."""
        with _explaining_disk(path):
            self._durable.write([(path, content)])

    def replace(self, path: str, content: bytes, tag: str) -> str:
        """Write the file if its tag is unchanged.

        A file system cannot compare and write in one step, so the caller holds the writer's lock.
        """
        if self.get_tagged(path)[1] != tag:
            raise ChangedError(path)
        with _explaining_disk(path):
            self._durable.replace(path, content)
            if tag == ABSENT:
                self._durable.settle([path])
        return hashlib.sha256(content).hexdigest()

    def replace_all(self, objects: Sequence[tuple[str, bytes, str]]) -> list[str | None]:
        """Write the files one after the other."""
        return [unless_changed(self.replace, *entry) for entry in objects]

    def put_all(self, objects: Iterable[tuple[str, bytes]], ahead: Sequence[tuple[str, bytes]] = ()) -> None:
        """Write the files portion by portion, each durable before the next; existing equal ones get a new
        modification time.
        """
        for some in portions(objects):
            with _explaining_disk(some[0][0]):
                new = [entry for entry in some if not self._is_same(*entry)]
                fresh = {path for path, _ in new}
                self._durable.write(new, [path for path, _ in some if path not in fresh], ahead)
                ahead = ()
        if ahead:
            with _explaining_disk(ahead[0][0]):
                self._durable.write([], (), ahead)

    def put_soon(self, path: str, content: bytes) -> None:
        """Write the file without waiting for the disk."""
        with _explaining_disk(path):
            self._durable.put_soon(path, content)

    def settle(self, paths: Sequence[str]) -> None:
        """Make the files durable that ``put_soon`` wrote."""
        with _explaining_disk("an upload"):
            self._durable.settle(paths)

    def remembered(self, paths: Iterable[str]) -> list[tuple[str, bytes, float]]:
        """Nothing: a local disk answers fast enough."""
        del paths
        return []

    def remember(self, objects: Iterable[tuple[str, bytes, float]]) -> None:
        """Do nothing, as :meth:`remembered`."""

    def take_all(self, other: Objects, moves: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Hard-link files from another folder; nothing can be linked from a bucket."""
        if not isinstance(other, Folder):
            return list(moves)
        with _explaining_disk("a blob"):
            return [move for move in moves if not self._durable.link(f"{other._place}/{move[0]}", move[1])]

    def _is_same(self, path: str, content: bytes) -> bool:
        if self.get(path) != content:
            return False
        os.utime(self.root / path)  # young again, so that clean-up does not delete it
        return True

    def delete(self, path: str) -> None:
        """Remove the file, if it exists. The removal is not made durable."""
        with _explaining_disk(path):
            self._durable.remove([path])

    def delete_all(self, paths: Iterable[str]) -> None:
        """Remove the files that exist. The removals are not made durable."""
        with _explaining_disk("a file"):
            self._durable.remove(paths)

    def listing(self, prefix: str = "") -> Iterator[tuple[str, int, float]]:
        """Walk the folder; a file that disappears meanwhile is skipped."""
        for folder, _, files in os.walk(self.root / prefix):
            for name in files:
                full = Path(folder, name)
                try:
                    facts = full.stat()
                except FileNotFoundError:
                    continue
                yield full.relative_to(self.root).as_posix(), facts.st_size, facts.st_mtime

    def modified(self, path: str) -> float | None:
        """The file's modification time; None if it cannot be read."""
        try:
            return os.stat(f"{self._place}/{path}").st_mtime
        except OSError:
            return None

    def modified_all(self, paths: Sequence[str]) -> list[float | None]:
        """Ask for the files one after the other."""
        return [self.modified(path) for path in paths]

    def make_older(self, path: str, modified: float) -> None:
        """Set the file's time. One that is gone or somebody else's keeps it."""
        with suppress(OSError):
            os.utime(self.root / path, (modified, modified))

    def remove_leftovers(self, older_than_seconds: float = 3600) -> None:
        """Delete temporary files that a killed process left. It reads the names of all files, and looks at no other file."""
        limit = time.time() - older_than_seconds
        for folder, _, files in os.walk(self._place):
            for name in files:
                if name.startswith(".") and name.endswith(".tmp"):
                    path = os.path.relpath(os.path.join(folder, name), self._place)
                    modified = self.modified(path)
                    if modified is not None and modified < limit:
                        self.delete(path)


_FULL_DISK = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


@contextmanager
def _explaining_disk(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _disk_error(error, path) from error


def _disk_error(error: OSError, path: str) -> RyeError:
    if error.errno in _FULL_DISK:
        return RyeError(
            "storage-full", f"The disk is full: {path} could not be written.", "Free some space, then try again."
        )
    return RyeError(
        "store-unavailable",
        f"The store cannot read or write {path}: {error.strerror or error}.",
        "Check the disk, and that the user who runs the registry owns the folder.",
    )
