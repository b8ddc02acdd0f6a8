"""Where the bytes of static files and blobs lie: a local folder, or a bucket of an S3-compatible service.

The methods of :class:`Objects` are the whole seam. ``put`` returns only when the object is durable and then shows it whole:
a reader sees the old object or the new one, never a part. Paths are relative, made of the protocol's safe segments, and come
from code, not from requests (:mod:`registry_server.storage.served` checks those before they get here).

Errors: ``storage-full`` (a full disk, quota or bucket), ``store-credentials``, ``store-unavailable``; never one of the
library's own.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from registry_server.storage.durable import Durable, system_syncfs
from registry_server.storage.store_seam import ABSENT, ChangedError, portions
from rye.errors import RyeError

if TYPE_CHECKING:
    from registry_server.settings import Settings


_SYNCFS = system_syncfs()


class Objects(Protocol):
    """A store of named byte strings."""

    is_local: bool
    """Whether ``get`` is fast enough to be called from the event loop."""

    def get(self, path: str) -> bytes | None:
        """The object's bytes; None where there is none."""

    def get_all(self, paths: Sequence[str]) -> list[bytes | None]:
        """The bytes of several objects, read at the same time where that is faster."""

    def get_tagged(self, path: str) -> tuple[bytes | None, str]:
        """The object's bytes and the tag of this version, for ``replace``; ``(None, ABSENT)`` where there is none."""

    def put(self, path: str, content: bytes) -> None:
        """Write the object, replacing an older one."""

    def replace(self, path: str, content: bytes, tag: str) -> str:
        """Write the object if it still has this tag; returns the new tag. Raises ChangedError.

        After a power cut this can be the previous object; a caller that needs the newest compares it with the database.
        """

    def put_all(self, objects: Iterable[tuple[str, bytes]], ahead: Sequence[tuple[str, bytes]] = ()) -> None:
        """Write several objects, all durable when it returns; those that are there with the same bytes are left alone.

        Tiles are compared too, never taken as written because they exist: a batch that was not committed may have left one.
        ``ahead``: what ``replace`` will be given next, so that a folder can make all of it durable at once.
        """

    def put_soon(self, path: str, content: bytes) -> None:
        """Write the object, replacing an older one. A power cut may take it away until :meth:`settle` has returned."""

    def settle(self, paths: Sequence[str]) -> None:
        """Make what ``put_soon`` wrote durable."""

    def take_all(self, other: Objects, moves: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Give settled objects of another store, by their paths there, a path here as well; durable with ``put_all``.

        What cannot be done without reading comes back and is the caller's to read and write.
        """

    def delete(self, path: str) -> None:
        """Remove the object where there is one."""

    def delete_all(self, paths: Iterable[str]) -> None:
        """Remove the objects that are there, in as few steps as the store knows."""

    def listing(self, prefix: str = "") -> Iterator[tuple[str, int, float]]:
        """``(path, size, modification time)`` of every object below ``prefix`` (a folder's path, or empty)."""

    def modified(self, path: str) -> float | None:
        """When the object was last written or found the same by ``put_all``; None where there is none."""

    def modified_all(self, paths: Sequence[str]) -> list[float | None]:
        """The same of several objects, asked at the same time where that is faster."""


class Folder:
    """A local folder; any web server can serve it."""

    is_local = True

    def __init__(self, root: Path) -> None:
        self.root = root
        self._place = str(root)
        self._durable = Durable(root, _SYNCFS)

    def get(self, path: str) -> bytes | None:
        try:
            with open(f"{self._place}/{path}", "rb", buffering=0) as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            raise _disk_error(error, path) from error

    def get_all(self, paths: Sequence[str]) -> list[bytes | None]:
        return [self.get(path) for path in paths]

    def get_tagged(self, path: str) -> tuple[bytes | None, str]:
        content = self.get(path)
        return content, ABSENT if content is None else hashlib.sha256(content).hexdigest()

    def put(self, path: str, content: bytes) -> None:
        with _explaining_disk(path):
            self._durable.write([(path, content)])

    def replace(self, path: str, content: bytes, tag: str) -> str:
        """The caller holds the writer's lock: a file system has no write that compares by itself."""
        if self.get_tagged(path)[1] != tag:
            raise ChangedError(path)
        with _explaining_disk(path):
            self._durable.replace(path, content)
            if tag == ABSENT:
                self._durable.settle([path])
        return hashlib.sha256(content).hexdigest()

    def put_all(self, objects: Iterable[tuple[str, bytes]], ahead: Sequence[tuple[str, bytes]] = ()) -> None:
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
        with _explaining_disk(path):
            self._durable.put_soon(path, content)

    def settle(self, paths: Sequence[str]) -> None:
        with _explaining_disk("an upload"):
            self._durable.settle(paths)

    def take_all(self, other: Objects, moves: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        if not isinstance(other, Folder):
            return list(moves)
        with _explaining_disk("a blob"):
            return [move for move in moves if not self._durable.link(f"{other.root}/{move[0]}", move[1])]

    def _is_same(self, path: str, content: bytes) -> bool:
        if self.get(path) != content:
            return False
        os.utime(self.root / path)  # young again: clean-up leaves it alone
        return True

    def delete(self, path: str) -> None:
        with _explaining_disk(path):
            self._durable.remove([path])

    def delete_all(self, paths: Iterable[str]) -> None:
        with _explaining_disk("a file"):
            self._durable.remove(paths)

    def listing(self, prefix: str = "") -> Iterator[tuple[str, int, float]]:
        for folder, _, files in os.walk(self.root / prefix):
            for name in files:
                full = Path(folder, name)
                try:
                    facts = full.stat()
                except FileNotFoundError:
                    continue
                yield full.relative_to(self.root).as_posix(), facts.st_size, facts.st_mtime

    def modified(self, path: str) -> float | None:
        try:
            return (self.root / path).stat().st_mtime
        except OSError:
            return None

    def modified_all(self, paths: Sequence[str]) -> list[float | None]:
        return [self.modified(path) for path in paths]

    def remove_leftovers(self, older_than_seconds: float = 3600) -> None:
        """Delete temporary files that a killed process left."""
        for path, _, modified in self.listing():
            name = path.rpartition("/")[2]
            if name.startswith(".") and name.endswith(".tmp") and modified < time.time() - older_than_seconds:
                self.delete(path)


def public_objects(settings: Settings) -> Objects:
    """The store of what is served."""
    return _open(settings, settings.public, "public")


def staged_objects(settings: Settings) -> Objects:
    """The store of files that wait with their release to be approved. Nothing in it is served or referred to by others."""
    return _open(settings, settings.staged, "staged")


def upload_objects(settings: Settings) -> Objects:
    """The store of blobs that nothing refers to yet. Nothing in it is served: it may hold what will be refused."""
    return _open(settings, settings.uploads, "uploads")


def _open(settings: Settings, folder: Path, part: str) -> Objects:
    if not settings.objects:
        return Folder(folder)
    from registry_server.storage.bucket import open_bucket

    return open_bucket(settings, part)


_FULL_DISK = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


@contextmanager
def _explaining_disk(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _disk_error(error, path) from error


def _disk_error(error: OSError, path: str) -> RyeError:
    if error.errno in _FULL_DISK:
        return RyeError("storage-full", f"The disk is full: {path} could not be written.", "Make room, then try again.")
    return RyeError(
        "store-unavailable",
        f"{path} in the store cannot be used: {error.strerror or error}.",
        "Check the disk, and that the folder belongs to the user who runs the registry.",
    )
