"""Passes results from the sequencer's thread to the event loop: one wake-up for all results of a batch.

Waking the loop costs a system call and a turn of the loop, and the two threads compete for the interpreter's lock. So
only the first result wakes the loop, which then takes all that have arrived.
"""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class Answers(Generic[T]):
    """The results that are on their way to one event loop."""

    def __init__(self) -> None:
        self._arrived: deque[tuple[asyncio.Future[T], Future[T]]] = deque()
        self._is_woken = False

    async def wait(self, result: Future[T], seconds: float) -> T:
        """Wait for a result that another thread sets. Raises TimeoutError.

        If the caller stops waiting, ``result`` is cancelled unless its work has begun.
        """
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[T] = loop.create_future()
        result.add_done_callback(lambda done: self._arrive(loop, waiter, done))
        try:
            async with asyncio.timeout(seconds):
                return await waiter
        finally:
            result.cancel()

    def _arrive(self, loop: asyncio.AbstractEventLoop, waiter: asyncio.Future[T], done: Future[T]) -> None:
        self._arrived.append((waiter, done))
        if not self._is_woken and not loop.is_closed():
            self._is_woken = True
            loop.call_soon_threadsafe(self._hand_out)

    def _hand_out(self) -> None:
        self._is_woken = False  # before looking: a result that arrives from here on wakes the loop again
        while self._arrived:
            waiter, done = self._arrived.popleft()
            if waiter.done() or done.cancelled():
                continue  # nobody waits any more
            error = done.exception()
            if error is not None:
                waiter.set_exception(error)
            else:
                waiter.set_result(done.result())
