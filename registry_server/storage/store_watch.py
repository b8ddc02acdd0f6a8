"""What one process knows about its requests to the store's service: how long they take, and which threads wait for one.

A request that took half of ``store_wait_seconds`` was slow: publishing needs several, one after the other. Thread-safe.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rye.errors import RyeError

RECENT_SECONDS = 60.0
"""How long a slow request is reported."""
Told = Callable[[str, float, bool], None]
"""Called with each request's operation, its seconds, and whether the service failed."""


class StoreWatch:
    """Watches the requests of all parts of one store."""

    def __init__(
        self, wait_seconds: float, told: Told = lambda *_: None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``wait_seconds``: the time limit for one request."""
        self.wait_seconds = wait_seconds
        self._told = told
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: Counter[int] = Counter()
        self._slowest = (0.0, -RECENT_SECONDS)
        """Seconds of the slowest of the recent slow requests, and when it ended."""

    @contextmanager
    def awaiting(self) -> Iterator[None]:
        """A block in which the calling thread does nothing but wait for requests, its own or those of other threads."""
        thread = threading.get_ident()
        with self._lock:
            self._waiting[thread] += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting[thread] -= 1
                if not self._waiting[thread]:
                    del self._waiting[thread]

    @contextmanager
    def request(self, operation: str) -> Iterator[None]:
        """A block that sends one request. ``operation``: ``get``, ``put``, ``replace``, ``head``, ``delete``."""
        began = self._clock()
        has_failed = False
        try:
            with self.awaiting():
                yield
        except RyeError:
            has_failed = True
            raise
        finally:
            self.ended(operation, self._clock() - began, has_failed)

    def is_awaited(self, thread: int) -> bool:
        """Whether this thread waits for the service. It does not wait forever: each request has a time limit."""
        with self._lock:
            return thread in self._waiting

    def is_slow(self, seconds: float) -> bool:
        """Whether a request of this length is slow."""
        return seconds >= self.wait_seconds / 2

    def slowest(self) -> float | None:
        """Return the seconds of the slowest slow request that ended recently; None: there was none."""
        with self._lock:
            seconds, ended = self._slowest
        return seconds if self._clock() - ended < RECENT_SECONDS else None

    def ended(self, operation: str, seconds: float, has_failed: bool) -> None:
        """Note a request that has ended, here or in another process of this server."""
        self._told(operation, seconds, has_failed)
        if self.is_slow(seconds):
            with self._lock:
                now = self._clock()
                before, ended = self._slowest
                if now - ended >= RECENT_SECONDS or seconds >= before:
                    self._slowest = (seconds, now)
