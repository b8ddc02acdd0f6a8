"""The cache, written while the program goes on: making thousands of small files takes a disk longer than verifying them.

What is put in is readable at once, from memory, and is on disk after :meth:`WriteBehindCache.flush`. A program that dies before
loses cached files and nothing else.
"""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass, field
from pathlib import Path

from rye.registry.cache import Cache
from rye.registry.tiles import Tile

_THREADS = 2
_WAITING = 4096
"""Files that wait at most; beyond, whoever puts waits, too."""


@dataclass(frozen=True, slots=True)
class WriteBehindCache(Cache):
    """A cache whose writes happen in threads of their own."""

    _waiting: dict[Path, bytes] = field(default_factory=dict)
    _queue: queue.Queue[tuple[Path, bytes] | None] = field(default_factory=lambda: queue.Queue(_WAITING))
    _threads: list[threading.Thread] = field(default_factory=list)

    def get(self, sha256: str) -> bytes | None:
        return self._waiting.get(self._object(sha256)) or Cache.get(self, sha256)

    def get_tile(self, origin: str, tile: Tile) -> bytes | None:
        return self._waiting.get(self._tile(origin, tile)) or Cache.get_tile(self, origin, tile)

    def flush(self) -> None:
        """Wait until everything is on disk. The cache can be used again afterwards."""
        for _ in self._threads:
            self._queue.put(None)
        while self._threads:
            self._threads.pop().join()

    def _write(self, path: Path, data: bytes) -> None:
        if path in self._waiting:
            return
        self._waiting[path] = data
        while len(self._threads) < _THREADS:
            thread = threading.Thread(target=self._work, daemon=True, name="rye-cache")
            thread.start()
            self._threads.append(thread)
        self._queue.put((path, data))

    def _work(self) -> None:
        while (entry := self._queue.get()) is not None:
            Cache._write(self, *entry)
            self._waiting.pop(entry[0], None)
