"""What one account may take of what all share: requests at once, places, and uploads that nothing refers to yet. A token without
an account has a share of its own.

Nothing here is exact across processes or restarts; it keeps one account from shutting the others out.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from rye.errors import RyeError


class Shares:
    """Counts per owner (:attr:`registry_server.accounts.tokens.Account.owner`). Safe to use from several threads."""

    def __init__(self, requests: int, uploads_bytes: int, places: int = 1_000_000) -> None:
        self._requests = max(requests, 1)
        self._places = max(places, 1)
        self._uploads_bytes = uploads_bytes
        self._lock = threading.Lock()
        self._under_way: Counter[str] = Counter()
        self._at_work: Counter[str] = Counter()
        self._uploads: dict[str, tuple[str, int]] = {}
        """SHA-256 of an upload that waits → token and size."""
        self._kept: Counter[str] = Counter()
        """Token → bytes of its uploads that wait."""

    @contextmanager
    def request(self, owner: str) -> Iterator[None]:
        """One request of this owner, from before its body arrives. Raises RyeError ``too-many-requests``."""
        with self._one_of(self._under_way, owner, self._requests):
            yield

    @contextmanager
    def place(self, owner: str) -> Iterator[None]:
        """One of the places for writing, once the body is there. Raises RyeError ``too-many-requests``."""
        with self._one_of(self._at_work, owner, self._places):
            yield

    @contextmanager
    def _one_of(self, counts: Counter[str], owner: str, most: int) -> Iterator[None]:
        with self._lock:
            if counts[owner] >= most:
                raise RyeError(
                    "too-many-requests",
                    f"This account has {most} requests under way.",
                    "Wait for some of them; several tokens do not help one publisher.",
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
        """Whether the token may keep an upload of this size beside those that it has."""
        with self._lock:
            return self._kept[token] + size <= self._uploads_bytes

    def keep(self, token: str, sha256: str, size: int) -> None:
        with self._lock:
            self._forget(sha256)
            self._uploads[sha256] = (token, size)
            self._kept[token] += size

    def forget_all_but(self, present: set[str]) -> None:
        """After a look at the store: what is not there any more was published or has expired."""
        with self._lock:
            for sha256 in self._uploads.keys() - present:
                self._forget(sha256)

    def _forget(self, sha256: str) -> None:
        token, size = self._uploads.pop(sha256, ("", 0))
        self._kept[token] -= size
        if not self._kept[token]:
            del self._kept[token]
