"""The verified files of other registries in this registry's own store, which all of its servers share.

Everything is checked when it comes in and again when it is read, so nothing here has to be trusted. The room is bounded: what was
not used for longest makes way. What was used within :data:`YOUNG_SECONDS` stays, so that a release that somebody is installing is
never taken apart; where that leaves no room, files are passed on without being kept.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from registry_server.storage.objects import Objects
from rye.errors import RyeError
from rye.registry.protocol.tiles import Tile
from rye.registry.store.cache import Cache

YOUNG_SECONDS = 3600.0
"""How long a file stays at least after it was used."""
_COUNTED_SECONDS = 300.0
"""How often the files are counted, because other servers write and delete some as well."""
_MOST_USED = 100_000
"""Files whose last use is remembered."""


class Room:
    """The room for files in one store. Thread-safe."""

    def __init__(self, store: Objects, most_bytes: int, now: Callable[[], float] = time.time) -> None:
        self.store = store
        self._most = most_bytes
        self._now = now
        self._lock = threading.Lock()
        self._bytes = 0
        self._counted = -_COUNTED_SECONDS
        self._used: dict[str, float] = {}

    @property
    def size(self) -> int:
        """The size of all files, as far as this process knows."""
        return self._bytes

    def get(self, path: str) -> bytes | None:
        """Return a file, and note that it was used."""
        content = self.store.get(path)
        if content is not None and self._now() - self._used.get(path, 0.0) > YOUNG_SECONDS / 2:
            self._note(path)
            self.store.put_all([(path, content)])  # the same bytes: only makes it young again
        return content

    def put(self, path: str, content: bytes) -> bool:
        """Keep a file; False if there is no room. A store that cannot be written only costs time."""
        with self._lock:
            if time.monotonic() - self._counted > _COUNTED_SECONDS or self._bytes + len(content) > self._most:
                self._make_room(len(content))
            if self._bytes + len(content) > self._most:
                return False
            self._bytes += len(content)
        try:
            self.store.put_soon(path, content)
        except RyeError:
            return False
        self._note(path)
        return True

    def delete(self, path: str) -> None:
        """Remove a file that turned out to be damaged."""
        self.store.delete(path)

    def _note(self, path: str) -> None:
        if len(self._used) > _MOST_USED:
            self._used.clear()
        self._used[path] = self._now()

    def _make_room(self, wanted: int) -> None:
        present = sorted((modified, size, path) for path, size, modified in self.store.listing())
        held = sum(size for _, size, _ in present)
        self._counted = time.monotonic()
        leaving: list[str] = []
        limit = self._now() - YOUNG_SECONDS
        for modified, size, path in present:
            if held + wanted <= self._most or modified > limit:
                break
            if "/lasting/" not in path:
                leaving.append(path)
                held -= size
        self.store.delete_all(leaving)
        self._bytes = held


class KeptFiles(Cache, frozen=True):
    """The cache of one other registry's client, in the room that all of them share."""

    room: Room

    @classmethod
    def of(cls, room: Room, prefix: str) -> KeptFiles:
        """Return the cache whose files are below ``prefix`` in the store."""
        return cls(Path(prefix), room)

    def get(self, sha256: str) -> bytes | None:
        """Return the content with this hash, checked; None if it is not here."""
        path = self._path(sha256)
        data = self.room.get(path)
        if data is not None and hashlib.sha256(data).hexdigest() != sha256:
            self.room.delete(path)
            return None
        return data

    def put(self, data: bytes) -> str:
        """Keep content; return its hash."""
        sha256 = hashlib.sha256(data).hexdigest()
        path = self._path(sha256)
        if self.room.get(path) is None:
            self.room.put(path, data)
        return sha256

    def forget(self, hashes: Iterable[str]) -> None:
        """Delete the contents with these hashes."""
        self.room.store.delete_all([self._path(sha256) for sha256 in hashes])

    def get_tile(self, origin: str, tile: Tile) -> bytes | None:
        """Return a tile of the log, or None. The caller checks it against the log's root."""
        del origin
        return self.room.get(f"{self.folder}/{tile.path}")

    def put_tile(self, origin: str, tile: Tile, data: bytes) -> None:
        """Keep a verified tile."""
        del origin
        self.room.put(f"{self.folder}/{tile.path}", data)

    def drop_tiles(self, origin: str) -> None:
        """Delete all tiles, after some of them failed verification."""
        del origin
        self.room.store.delete_all([path for path, _, _ in self.room.store.listing(f"{self.folder}/tile")])

    def get_file(self, name: str) -> bytes | None:
        """Return a file that is kept by its name; the caller checks it."""
        return self.room.get(f"{self.folder}/{name}")

    def put_file(self, name: str, data: bytes) -> None:
        """Keep a file by its name."""
        self.room.put(f"{self.folder}/{name}", data)

    def _path(self, sha256: str) -> str:
        return f"{self.folder}/objects/{sha256[:2]}/{sha256}"
