"""Each account's share of common resources: concurrent requests, slots, and uploads that nothing refers to yet.

A token without an account has its own share. Nothing here is exact across processes or restarts; it keeps one account
from starving the others.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from rye.errors import RyeError


class Quotas:
    """Counts per owner (:attr:`registry_server.accounts.tokens.Account.owner`). Thread-safe."""

    def __init__(self, requests: int, uploads_bytes: int, places: int = 1_000_000) -> None:
        self._requests = max(requests, 1)
        self._places = max(places, 1)
        self._uploads_bytes = uploads_bytes
        self._lock = threading.Lock()
        self._under_way: Counter[str] = Counter()
        self._at_work: Counter[str] = Counter()
        self._uploads: dict[str, tuple[str, int]] = {}
        """SHA-256 of a pending upload → token and size."""
        self._kept: Counter[str] = Counter()
        """Token → bytes of its pending uploads."""
        self._others = 0
        """Bytes of pending uploads that came through other processes, or before the start, as of the last listing."""

    @contextmanager
    def request(self, owner: str) -> Iterator[None]:
        """One request of this owner, from before its body arrives. Raises RyeError ``too-many-requests``."""
        with self._one_of(self._under_way, owner, self._requests):
            yield

    @contextmanager
    def place(self, owner: str) -> Iterator[None]:
        """One of the slots for writing, once the body has arrived. Raises RyeError ``too-many-requests``."""
        with self._one_of(self._at_work, owner, self._places):
            yield

    @contextmanager
    def _one_of(self, counts: Counter[str], owner: str, most: int) -> Iterator[None]:
        with self._lock:
            if counts[owner] >= most:
                raise RyeError(
                    "too-many-requests",
                    f"This account already has {most} requests running.",
                    "Wait for some of them to finish. Using several tokens does not raise the limit.",
                )
            counts[owner] += 1
        try:
            yield
        finally:
            with self._lock:
                counts[owner] -= 1
                if not counts[owner]:
                    del counts[owner]

    def fits(self, token: str, size: int) -> bool:
        """Whether the token may keep an upload of this size in addition to its others."""
        with self._lock:
            return self._kept[token] + size <= self._uploads_bytes

    def keep(self, token: str, sha256: str, size: int) -> None:
        """Count an upload of a token, in place of an earlier upload of the same bytes."""
        with self._lock:
            self._forget(sha256)
            self._uploads[sha256] = (token, size)
            self._kept[token] += size

    def forget(self, hashes: Iterable[str]) -> None:
        """Count these uploads no longer: they were published."""
        with self._lock:
            for sha256 in hashes:
                self._forget(sha256)

    def update(self, present: Mapping[str, int]) -> None:
        """Update from a listing of the store, of sizes by SHA-256: uploads that are gone were published or have expired."""
        with self._lock:
            for sha256 in self._uploads.keys() - present.keys():
                self._forget(sha256)
            self._others = sum(size for sha256, size in present.items() if sha256 not in self._uploads)

    @property
    def kept_bytes(self) -> int:
        """Size of all pending uploads. Several processes on one store know of each other's from listings alone."""
        with self._lock:
            return self._others + self._kept.total()

    def _forget(self, sha256: str) -> None:
        token, size = self._uploads.pop(sha256, ("", 0))
        self._kept[token] -= size
        if not self._kept[token]:
            del self._kept[token]
