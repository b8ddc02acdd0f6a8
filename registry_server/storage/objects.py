"""Where the bytes of static files and blobs lie: a local folder, or a bucket of an S3-compatible service.

The methods of :class:`Objects` are the whole seam. ``put`` returns only when the object is durable and then shows it whole:
a reader sees the old object or the new one, never a part. Paths are relative, made of the protocol's safe segments, and come
from code, not from requests (:mod:`registry_server.api.static` checks those before they get here).

Errors: ``storage-full`` (a full disk, quota or bucket), ``store-credentials``, ``store-unavailable``; never one of the
library's own.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from registry_server.storage.store_seam import ABSENT, ChangedError
from rye.errors import RyeError

if TYPE_CHECKING:
    from registry_server.settings import Settings


class Objects(Protocol):
    """A store of named byte strings."""

    is_local: bool
    """Whether ``get`` is fast enough to be called from the event loop."""

    def get(self, path: str) -> bytes | None:
        """The object's bytes; None where there is none."""

    def get_tagged(self, path: str) -> tuple[bytes | None, str]:
        """The object's bytes and the tag of this version, for ``replace``; ``(None, ABSENT)`` where there is none."""

    def put(self, path: str, content: bytes) -> None:
        """Write the object, replacing an older one."""

    def replace(self, path: str, content: bytes, tag: str) -> str:
        """Write the object if it still has this tag; returns the new tag. Raises ChangedError."""

    def put_all(self, objects: Iterable[tuple[str, bytes]]) -> None:
        """Write several objects, all durable when it returns; those that are there with the same bytes are left alone.

        Tiles are compared too, never taken as written because they exist: a batch that was not committed may have left one.
        """

    def delete(self, path: str) -> None:
        """Remove the object where there is one."""

    def listing(self, prefix: str = "") -> Iterator[tuple[str, int, float]]:
        """``(path, size, modification time)`` of every object below ``prefix`` (a folder's path, or empty)."""

    def modified(self, path: str) -> float | None:
        """When the object was last written or found the same by ``put_all``; None where there is none."""


class Folder:
    """A local folder; any web server can serve it."""

    is_local = True

    def __init__(self, root: Path) -> None:
        self.root = root

    def get(self, path: str) -> bytes | None:
        try:
            return (self.root / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            raise _disk_error(error, path) from error

    def get_tagged(self, path: str) -> tuple[bytes | None, str]:
        content = self.get(path)
        return content, ABSENT if content is None else hashlib.sha256(content).hexdigest()

    def put(self, path: str, content: bytes) -> None:
        target = self.root / path
        with _explaining_disk(path):
            self._write(target, content)
            _sync_folder(target.parent)

    def replace(self, path: str, content: bytes, tag: str) -> str:
        """The caller holds the writer's lock: a file system has no write that compares by itself."""
        if self.get_tagged(path)[1] != tag:
            raise ChangedError(path)
        self.put(path, content)
        return hashlib.sha256(content).hexdigest()

    def put_all(self, objects: Iterable[tuple[str, bytes]]) -> None:
        folders = set()
        for path, content in objects:
            target = self.root / path
            folders.add(target.parent)
            with _explaining_disk(path):
                # A file is renamed into place only after its bytes are on the disk: one that reads the same is durable.
                if self.get(path) != content:
                    self._write(target, content)
                else:
                    os.utime(target)  # young again: clean-up leaves it alone
        for folder in folders:
            with _explaining_disk(str(folder)):
                _sync_folder(folder)

    def _write(self, target: Path, content: bytes) -> None:
        _make_folder(target.parent)
        temporary = target.parent / f".{target.name}.{secrets.token_hex(6)}.tmp"
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def delete(self, path: str) -> None:
        with _explaining_disk(path):
            (self.root / path).unlink(missing_ok=True)

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

    def remove_leftovers(self, older_than_seconds: float = 3600) -> None:
        """Delete temporary files that a killed process left."""
        for path, _, modified in self.listing():
            name = path.rpartition("/")[2]
            if name.startswith(".") and name.endswith(".tmp") and modified < time.time() - older_than_seconds:
                self.delete(path)


def _make_folder(folder: Path) -> None:
    """``mkdir -p``, every new entry made durable."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # folders cannot be opened for syncing there
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def public_objects(settings: Settings) -> Objects:
    """The store of what is served."""
    return _open(settings, settings.public, "public")


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
