"""The cache shared by all projects of a user: files that were fetched and verified once are not fetched again.

Rules:

* ``objects/<aa>/<sha256>`` holds content by its hash (blobs, nodes of the name map, index files), ``packs/`` holds
  many objects in one file (:mod:`rye.registry.store.packs`), ``tiles/<origin's hash>/<path>`` holds tiles.
* Only verified content goes in, and it is verified again when read. A damaged object is deleted and counts as a cache
  miss.
* The folder is created for the user alone: it has items of registries that only members may read. One that exists keeps
  its mode, so people can share it.
* Files are written atomically (a temporary file, then a rename), so any number of programs can share the cache.
* The cache can be deleted at any time: whatever is missing is fetched again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from rye.registry.protocol.tiles import Tile
from rye.registry.store.packs import Packs
from rye.storage.private_files import make_folder
from rye.storage.safe_files import read_regular, remove_tree
from rye.text.lazy import lazy_pattern

_SHA256 = lazy_pattern(r"[0-9a-f]{64}")
_STALE_SECONDS = 24 * 3600
"""A temporary file this old belongs to a program that died."""


class CacheInfo(Struct, frozen=True):
    """The size of a cache."""

    folder: Path
    objects: int
    tiles: int
    bytes: int


class Cache(Struct, frozen=True):
    """A cache in a folder, which is created when the first file is stored."""

    folder: Path

    def get(self, sha256: str) -> bytes | None:
        """Return the content with this hash, checked; None if it is not cached."""
        data = self._get_loose(sha256)
        if data is not None:
            return data
        packs = Packs(self.folder / "packs")
        try:
            return packs.get(sha256)
        finally:
            packs.close()

    def put(self, data: bytes) -> str:
        """Store content; return its hash."""
        sha256 = hashlib.sha256(data).hexdigest()
        path = self._object(sha256)
        if not path.exists():
            self._write(path, data)
        return sha256

    def get_tile(self, origin: str, tile: Tile) -> bytes | None:
        """Return a tile of a registry's log, or None. The caller checks it against the log's root."""
        return _read(self._tile(origin, tile))

    def put_tile(self, origin: str, tile: Tile, data: bytes) -> None:
        """Store a verified tile. Partial ones are stored as well, to prove consistency with the last head offline."""
        self._write(self._tile(origin, tile), data)

    def drop_tiles(self, origin: str) -> None:
        """Delete all tiles of a registry, after some of them failed verification."""
        remove_tree(self._tiles(origin))

    def info(self) -> CacheInfo:
        """Count the objects, tiles and bytes."""
        counts = {"objects": 0, "tiles": 0}
        size = 0
        for kind in counts:
            for _, status in _files(self.folder / kind):
                counts[kind] += 1
                size += status.st_size
        packs = Packs(self.folder / "packs")
        for path, status in _files(packs.folder):
            counts["objects"] += packs.objects(str(path))
            size += status.st_size
        packs.close()
        return CacheInfo(self.folder, counts["objects"], counts["tiles"], size)

    def clean(self) -> CacheInfo:
        """Delete everything; return what was deleted."""
        found = self.info()
        for kind in ("objects", "packs", "tiles", "temporary"):
            remove_tree(self.folder / kind)
        return found

    def prune(self, older_than_seconds: float) -> CacheInfo:
        """Delete everything that was not used for that long, and leftovers of dead programs; return what was
        deleted.
        """
        limit = time.time() - older_than_seconds
        counts = {"objects": 0, "tiles": 0}
        size = 0
        for kind in counts:
            for path, status in _files(self.folder / kind):
                if max(status.st_mtime, status.st_atime) < limit and _remove(path):
                    counts[kind] += 1
                    size += status.st_size
        packs = Packs(self.folder / "packs")
        for path, status in _files(packs.folder):
            number = packs.objects(str(path))
            if max(status.st_mtime, status.st_atime) < limit and _remove(path):
                counts["objects"] += number
                size += status.st_size
        packs.close()
        for path, status in _files(self.folder / "temporary"):
            if status.st_mtime < time.time() - _STALE_SECONDS:
                _remove(path)
        return CacheInfo(self.folder, counts["objects"], counts["tiles"], size)

    def _get_loose(self, sha256: str) -> bytes | None:
        """The content of an object in its own file."""
        path = self._object(sha256)
        data = _read(path)
        if data is not None and hashlib.sha256(data).hexdigest() != sha256:
            _remove(path)
            return None
        return data

    def _object(self, sha256: str) -> Path:
        if _SHA256.fullmatch(sha256) is None:
            raise ValueError(f"{sha256!r} is not a hash")
        return self.folder / "objects" / sha256[:2] / sha256

    def _tiles(self, origin: str) -> Path:
        return self.folder / "tiles" / hashlib.sha256(origin.encode()).hexdigest()[:32]

    def _tile(self, origin: str, tile: Tile) -> Path:
        return self._tiles(origin) / tile.path

    def _write(self, path: Path, data: bytes) -> None:
        temporary = f"{self.folder}/temporary/{os.getpid()}-{os.urandom(8).hex()}"
        with contextlib.suppress(OSError):  # a full or read-only disk slows an install down, but never breaks it
            try:
                _write_new(temporary, data, self.folder)
                _move(temporary, str(path))
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temporary)
                raise


def _write_new(path: str, data: bytes, root: Path) -> None:
    """Create folders only when one is missing, without checking each time: there are thousands of files."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags, 0o666)
    except FileNotFoundError:
        make_folder(root)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        descriptor = os.open(path, flags, 0o666)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)


def _move(source: str, target: str) -> None:
    try:
        os.replace(source, target)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.replace(source, target)


def _read(path: Path) -> bytes | None:
    try:
        return read_regular(path)
    except OSError:
        return None


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            with contextlib.suppress(OSError):
                yield path, path.stat()
