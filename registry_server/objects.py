"""Where the bytes of static files and blobs lie: a local folder, or a bucket of an S3-compatible service.

Four methods are the whole seam. ``put`` returns only when the object is durable and then shows it whole: a reader sees the old
object or the new one, never a part. Paths are relative, made of the protocol's safe segments, and come from code, not from
requests (:mod:`registry_server.static` checks those before they get here).
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from obstore.store import S3Store

    from registry_server.settings import Settings


class Objects(Protocol):
    """A store of named byte strings."""

    is_local: bool
    """Whether ``get`` is fast enough to be called from the event loop."""

    def get(self, path: str) -> bytes | None:
        """The object's bytes; None where there is none."""

    def put(self, path: str, content: bytes) -> None:
        """Write the object, replacing an older one."""

    def put_all(self, objects: Iterable[tuple[str, bytes]]) -> None:
        """Write several objects, all durable when it returns; those that are there with the same bytes are left alone.

        Tiles are compared too, never taken as written because they exist: a batch that was not committed may have left one.
        """

    def delete(self, path: str) -> None:
        """Remove the object where there is one."""

    def listing(self, prefix: str = "") -> Iterator[tuple[str, int, float]]:
        """``(path, size, modification time)`` of every object below ``prefix`` (a folder's path, or empty)."""


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

    def put(self, path: str, content: bytes) -> None:
        target = self.root / path
        self._write(target, content)
        _sync_folder(target.parent)

    def put_all(self, objects: Iterable[tuple[str, bytes]]) -> None:
        folders = set()
        for path, content in objects:
            target = self.root / path
            folders.add(target.parent)
            # A file is renamed into place only after its bytes are on the disk: one that reads the same is durable.
            if self.get(path) != content:
                self._write(target, content)
        for folder in folders:
            _sync_folder(folder)

    def _write(self, target: Path, content: bytes) -> None:
        _make_folder(target.parent)
        temporary = target.parent / f".{target.name}.{secrets.token_hex(6)}.tmp"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def delete(self, path: str) -> None:
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


class Bucket:
    """A prefix in an S3 bucket. The service makes each ``put`` durable and atomic."""

    is_local = False

    def __init__(self, store: S3Store) -> None:
        self.store = store

    def get(self, path: str) -> bytes | None:
        try:
            return bytes(self.store.get(path).bytes())
        except FileNotFoundError:
            return None

    def put(self, path: str, content: bytes) -> None:
        self.store.put(path, content)

    def put_all(self, objects: Iterable[tuple[str, bytes]]) -> None:
        for path, content in objects:
            if self.get(path) != content:
                self.store.put(path, content)

    def delete(self, path: str) -> None:
        try:
            self.store.delete(path)
        except FileNotFoundError:
            return

    def listing(self, prefix: str = "") -> Iterator[tuple[str, int, float]]:
        for page in self.store.list(prefix or None):
            for entry in page:
                yield entry["path"], entry["size"], entry["last_modified"].timestamp()


def public_objects(settings: Settings) -> Objects:
    """The store of what is served."""
    return _open(settings, settings.public, "public")


def upload_objects(settings: Settings) -> Objects:
    """The store of blobs that nothing refers to yet. Nothing in it is served: it may hold what will be refused."""
    return _open(settings, settings.uploads, "uploads")


def _open(settings: Settings, folder: Path, part: str) -> Objects:
    if not settings.objects:
        return Folder(folder)
    from obstore.store import S3Store

    from rye.errors import RyeError

    if not settings.objects.startswith("s3://"):
        raise RyeError(
            "bad-setting", f"objects is {settings.objects!r}.", "Leave it empty, or give s3://bucket/prefix."
        )
    bucket, _, prefix = settings.objects.removeprefix("s3://").partition("/")
    options: dict[str, str] = {}
    if settings.s3_endpoint:
        options["endpoint"] = settings.s3_endpoint
    if settings.s3_region:
        options["region"] = settings.s3_region
    is_plain = settings.s3_endpoint.startswith("http://")
    store = S3Store(
        bucket,
        prefix="/".join(filter(None, [prefix.strip("/"), part])),
        client_options={"allow_http": is_plain},
        **options,  # type: ignore[arg-type]
    )
    return Bucket(store)
