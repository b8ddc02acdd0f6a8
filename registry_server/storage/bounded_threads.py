"""Threads for work on the database, with a bounded number of callers.

Each sort of request (pages, searches, other programs) has its own, so none can take the threads of another or of publishing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from rye.errors import RyeError

T = TypeVar("T")


class BoundedThreads:
    """At most ``threads`` calls run and ``waiting`` wait. Any more are refused at once. Thread-safe."""

    def __init__(self, name: str, threads: int, waiting: int, refusal: str) -> None:
        """``name``: prefix of the threads' names; ``refusal``: the message when all places are taken."""
        self._pool = ThreadPoolExecutor(max(threads, 1), thread_name_prefix=name)
        self._most = max(threads, 1) + max(waiting, 0)
        self._refusal = refusal
        self._lock = threading.Lock()
        self.taken = 0
        """How many calls run or wait."""

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Run ``work`` in a thread. Raises RyeError ``busy``, at no cost."""
        with self._lock:
            if self.taken >= self._most:
                raise RyeError("busy", self._refusal, "Try again in a moment.")
            self.taken += 1
        try:
            future = self._pool.submit(work)
        except RuntimeError:  # closed
            self._leave()
            raise RyeError("busy", "The registry is stopping.", "Try again in a moment.") from None
        future.add_done_callback(lambda _done: self._leave())
        return future

    def close(self) -> None:
        """Accept no more work. Running calls finish; waiting ones are cancelled."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _leave(self) -> None:
        with self._lock:
            self.taken -= 1
