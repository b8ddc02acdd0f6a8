"""Track which namespaces new log entries are about, so that only what changed is derived again.

Each new entry is read once for all caches. A response derived at log size ``as_of`` stays valid until an entry at that
position or later is about its namespaces. Three things affect more than one namespace and invalidate everything: a
takedown (other releases may have the same file), a new root, and too many new entries to read. A recovery of keys takes
effect at its time, without an entry.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import datetime

from registry_server.sequencer.ledger import Ledger
from rye.registry.protocol.statements import Advisory, Keyset, Root, Takedown

_MOST_ENTRIES = 20_000
"""New entries that are read. If there are more, everything counts as changed."""
_MOST_NAMESPACES = 20_000
"""Namespaces that are tracked. If there are more, everything counts as changed."""
_AT_ONCE = 1000
_ENDING = frozenset(title.encode() for title in (Takedown.TITLE, Root.TITLE))
_ABOUT_NAMESPACE = Keyset.TITLE.encode()
_ADVISORY = Advisory.TITLE.encode()


class Changes:
    """The log size at which each namespace last changed. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._size = -1
        self._time: datetime | None = None
        self._everything = 0
        self._advisories = 0
        self._skills: dict[str, int] = {}
        self._items: dict[str, int] = {}

    def advance(self, ledger: Ledger) -> None:
        """Read the entries that are new since the last call."""
        published = ledger.published()
        size, time = ledger.size, published.time if published is not None else None
        with self._lock:
            if size < self._size or (size == self._size and time == self._time):
                return  # nothing new, or a transaction older than the last one
            if self._size < 0 or size - self._size > _MOST_ENTRIES:
                self._forget(size)
            else:
                for start in range(self._size, size, _AT_ONCE):
                    for position, leaf in enumerate(ledger.leaves(start, min(start + _AT_ONCE, size)), start):
                        self._read(position + 1, leaf)
            if self._time is not None and time is not None:
                for namespace in ledger.recovered_between(*sorted((self._time, time))):
                    self._items[namespace] = self._skills[namespace] = size
            if len(self._items) > _MOST_NAMESPACES:
                self._forget(size)
            self._size, self._time = size, time

    def skills_are(self, as_of: int, namespace: str | None) -> bool:
        """Whether the skills of a namespace, or of all, are unchanged since the log had that size."""
        with self._lock:
            last = self._skills.get(namespace, 0) if namespace is not None else max(self._skills.values(), default=0)
            return max(last, self._everything) <= as_of

    def items_are(self, as_of: int, namespaces: Iterable[str]) -> bool:
        """Whether advisories and everything in these namespaces are unchanged since the log had that size."""
        with self._lock:
            last = max((self._items.get(namespace, 0) for namespace in namespaces), default=0)
            return max(last, self._everything, self._advisories) <= as_of

    def _forget(self, size: int) -> None:
        self._everything = size
        self._skills.clear()
        self._items.clear()

    def _read(self, size: int, leaf: bytes) -> None:
        """Read the first lines of an entry: the title, the origin, and what it is about."""
        title, _, rest = leaf.partition(b"\n")
        about = rest.partition(b"\n")[2].partition(b"\n")[0].decode()
        if title in _ENDING:
            self._everything = size
        elif title == _ABOUT_NAMESPACE:
            namespace = about.removeprefix("namespace ")
            self._items[namespace] = self._skills[namespace] = size
        elif about.startswith("id "):
            kind, _, identifier = about.removeprefix("id ").partition(":")
            namespace = identifier.partition("/")[0]
            self._items[namespace] = size
            if kind == "skill":
                self._skills[namespace] = size
            if title == _ADVISORY:
                self._advisories = size
