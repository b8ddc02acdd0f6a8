"""The cache shared by all projects of a user: files that were fetched and verified once are not fetched again.

Rules:

* ``objects/<aa>/<sha256>`` holds content by its hash (blobs, nodes of the name map, index files), ``packs/`` holds
  many objects in one file, ``tiles/<origin's hash>/<path>`` holds tiles.
* Only verified content goes in, and it is verified again when read. A damaged object is deleted and counts as a cache
  miss.
* The folder is created for the user alone: it has items of registries that only members may read. One that exists keeps
  its mode, so people can share it.
* Files are written atomically (a temporary file, then a rename), so any number of programs can share the cache.
* The cache can be deleted at any time: whatever is missing is fetched again. Only the texts of customizations that a user agreed
  to are nowhere else; without them, a question cannot show what became of one (:mod:`rye.workspace.trusting.shown_changes`).

Creating two thousand small files takes longer than verifying their content, so there are packs. A pack is ``packs/<hash
of its index>.pack``: the line ``rye-pack 1 <bytes of the index>``, the index (JSON: SHA-256 → offset in the data and
size), the data. It is written atomically and never changes. Nothing in it is trusted: each object is hashed when it is
read, so a damaged pack only costs time.

With :class:`WriteBehindCache`, everything that a run fetched becomes one pack instead of thousands of files. New
content can be read from memory at once, and is on disk after :meth:`WriteBehindCache.flush`. A program that dies before
that loses only cached files.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct, field

from rye.registry.protocol.tiles import Tile
from rye.storage.private_files import make_folder
from rye.storage.safe_files import open_regular, read_regular, remove_tree
from rye.text.lazy import lazy_pattern

_HEAD = lazy_pattern(rb"rye-pack 1 (\d{1,9})\n")
_MOST_INDEX_BYTES = 64 * 1024 * 1024


class _Opened(Struct, frozen=True):
    """An open pack. ``stream`` None: it cannot be read."""

    stream: BinaryIO | None = None
    start: int = 0
    """Offset of the data in the file."""
    index: Mapping[str, list[int]] = {}
    """SHA-256 → offset in the data, and size."""


class Packs(Struct, frozen=True):
    """The packs in a folder, listed at first use. Each is opened, and its index read, once."""

    folder: Path
    _found: list[list[str]] = field(default_factory=list)
    """The packs' paths, after the first listing."""
    _opened: dict[str, _Opened] = field(default_factory=dict)
    """Opened packs by path."""

    def get(self, sha256: str) -> bytes | None:
        """Return the object, checked by its hash; None if no pack has it undamaged."""
        for path in self._paths():
            pack = self._open(path)
            place = pack.index.get(sha256)
            if place is None or pack.stream is None:
                continue
            with contextlib.suppress(OSError, ValueError, TypeError, LookupError):
                pack.stream.seek(pack.start + place[0])
                data = pack.stream.read(place[1])
                if hashlib.sha256(data).hexdigest() == sha256:
                    return data
        return None

    def put(self, objects: Mapping[str, bytes]) -> None:
        """Write a pack with these objects, by SHA-256.

        On a full or read-only disk nothing is cached, without an error.
        """
        index: dict[str, list[int]] = {}
        offset = 0
        for sha256, data in objects.items():
            index[sha256] = [offset, len(data)]
            offset += len(data)
        head = json.dumps(index).encode()
        path = self.folder / f"{hashlib.sha256(head).hexdigest()}.pack"
        temporary = self.folder.parent / "temporary" / f"{os.getpid()}-{os.urandom(8).hex()}"
        with contextlib.suppress(OSError):
            make_folder(self.folder.parent)  # the cache
            self.folder.mkdir(exist_ok=True)
            temporary.parent.mkdir(exist_ok=True)
            try:
                with temporary.open("xb") as stream:
                    stream.write(b"rye-pack 1 %d\n" % len(head))
                    stream.write(head)
                    stream.writelines(objects.values())
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)

    def objects(self, path: str) -> int:
        """Return how many objects the pack at ``path`` has."""
        return len(self._open(path).index)

    def close(self) -> None:
        """Close the files. Later calls list and open them again."""
        for pack in self._opened.values():
            if pack.stream is not None:
                pack.stream.close()
        self._opened.clear()
        self._found.clear()

    def _paths(self) -> list[str]:
        if not self._found:
            paths: list[str] = []
            with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
                paths = sorted(entry.path for entry in entries if entry.name.endswith(".pack"))
            self._found.append(paths)
        return self._found[0]

    def _open(self, path: str) -> _Opened:
        known = self._opened.get(path)
        if known is None:
            known = self._opened[path] = _read_index(path)
        return known


def _read_index(path: str) -> _Opened:
    try:
        stream = open_regular(path)  # Packs.close closes it
    except OSError:
        return _Opened()
    try:
        head = _HEAD.fullmatch(stream.readline(64))
        if head is not None and int(head[1]) <= _MOST_INDEX_BYTES:
            index = json.loads(stream.read(int(head[1])))
            if isinstance(index, dict):
                return _Opened(stream, stream.tell(), index)
    except (OSError, ValueError, RecursionError):
        pass
    stream.close()
    return _Opened()


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


_FEWEST = 32
"""Fewer new objects than this are written as single files, so that there are few packs."""
_MOST_BYTES = 64 * 1024 * 1024
"""A pack is written early when more than this is in memory."""


class _Memory(Struct):
    """What a run knows about its cache. ``kept``: objects that are already on disk."""

    packs: Packs
    waiting: dict[str, bytes] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    bytes: int = 0


class WriteBehindCache(Cache, frozen=True):
    """A cache that keeps new objects in memory until it is flushed. Create it with :meth:`at`."""

    memory: _Memory

    @classmethod
    def at(cls, folder: Path) -> WriteBehindCache:
        """Return a cache in this folder."""
        return cls(folder, _Memory(Packs(folder / "packs")))

    def get(self, sha256: str) -> bytes | None:
        """Return the content with this hash, from memory or from the disk, checked."""
        data = self.memory.waiting.get(sha256)
        if data is None:
            data = self.memory.packs.get(sha256) or self._get_loose(sha256)
            if data is not None:
                self.memory.kept.add(sha256)
        return data

    def put(self, data: bytes) -> str:
        """Keep content in memory; return its hash."""
        sha256 = hashlib.sha256(data).hexdigest()
        memory = self.memory
        if sha256 not in memory.waiting and sha256 not in memory.kept:
            memory.waiting[sha256] = data
            memory.bytes += len(data)
            if memory.bytes > _MOST_BYTES:
                self.flush()
        return sha256

    def flush(self) -> None:
        """Write the waiting objects. The cache can be used afterwards."""
        memory = self.memory
        if len(memory.waiting) < _FEWEST:
            for data in memory.waiting.values():
                Cache.put(self, data)
        else:
            memory.packs.put(memory.waiting)
        memory.waiting.clear()
        memory.bytes = 0
        memory.packs.close()
