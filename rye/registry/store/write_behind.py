"""A cache that is written at the end of a run: everything that the run fetched becomes one pack instead of thousands of
files.

New content can be read from memory at once, and is on disk after :meth:`WriteBehindCache.flush`. A program that dies
before that loses only cached files.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from msgspec import Struct, field

from rye.registry.store.cache import Cache
from rye.registry.store.packs import Packs

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
