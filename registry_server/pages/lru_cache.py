"""A bounded cache: the least recently used values are dropped first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """A cache bounded by the sizes given with the values. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[K, tuple[int, V]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """Return a value; None if it is not in the cache."""
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[1]

    def drop(self, key: K) -> None:
        """Remove a value."""
        with self._lock:
            self._size -= self._values.pop(key, (0, None))[0]

    def clear(self) -> None:
        """Keep nothing any longer."""
        with self._lock:
            self._values.clear()
            self._size = 0

    def put(self, key: K, value: V, size: int = 1) -> None:
        """Add a value, unless it alone exceeds the limit."""
        with self._lock:
            before = self._values.pop(key, None)
            if before is not None:
                self._size -= before[0]
            if size > self._most:
                return
            self._values[key] = (size, value)
            self._size += size
            while self._size > self._most:
                self._size -= self._values.popitem(last=False)[1][0]
