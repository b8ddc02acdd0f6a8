"""Concurrent requests become batches: one thread takes the waiting requests, appends them as one batch, and answers
each.

A batch begins as soon as a request arrives and no other is on its way. While other requests are being examined, the
thread waits for them, but no longer than the previous batch took: a batch costs the same syncs and signatures whatever
its size.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.admission import Admitted
from rye.errors import RyeError

_log = logging.getLogger("rye.registry")

TROUBLE = frozenset(
    {
        "database-behind",
        "database-busy",
        "database-damaged",
        "database-unavailable",
        "log-key-missing",
        "storage-full",
        "store-credentials",
        "store-foreign",
        "store-unavailable",
    }
)
"""Errors of the database or the store, not of a request: all waiting requests fail, and the operator has to act."""
LINGER_SECONDS = 0.03
"""The longest wait for requests that are being examined."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of one request: a result for each of its statements, and a checkpointed size that covers them."""

    results: tuple[Admitted, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender of a request, for the operator's records."""

    token: str
    """The token's public ID."""
    address: str
    """The client's address, or that of a proxy that is not trusted to forward it."""
    account: str | None = None
    """The token's account; None: a token that the operator created without one."""


Outcome = Receipt | Exception
_Waiting = tuple[tuple[Candidate, ...], Future[Receipt], Sender | None]


class Appends(Protocol):
    """What :class:`Batches` needs from the sequencer."""

    def work(self, requests: Sequence[Sequence[Candidate]], senders: Sequence[Sender | None] | None) -> list[Outcome]:
        """Append a batch; one outcome for each request. Raises if nothing was written."""

    def tidy(self) -> None:
        """Clean up after a batch whose requests have been answered."""

    def heartbeat(self) -> bool:
        """Sign a new head if the newest is too old; returns whether it did."""


class Batches:
    """The queue and its thread. Safe to use from several threads."""

    def __init__(self, log: Appends, most_statements: int, beat_seconds: float, interval_seconds: float = 0.0) -> None:
        self._log = log
        self._most = most_statements
        self._beat_seconds = max(beat_seconds, 0.05)
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._interval = interval_seconds
        self._next = 0.0
        """The earliest start of the next batch, on the monotonic clock."""
        self._coming = 0
        self._counting = threading.Lock()
        self._linger = 0.0
        self._moved = time.monotonic()

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="sequencer", daemon=True)
        self._thread.start()

    def stop(self, seconds: float | None = None) -> bool:
        """Finish the waiting requests, then stop; False if that takes longer than ``seconds``."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(seconds)
            if self._thread.is_alive():
                return False
            self._thread = None
        return True

    def submit(self, candidates: Sequence[Candidate], sender: Sender | None) -> Future[Receipt]:
        """Queue one request. The future gets its receipt, or the error that refused it."""
        future: Future[Receipt] = Future()
        self._queue.put((tuple(candidates), future, sender))
        return future

    @contextmanager
    def expecting(self) -> Iterator[None]:
        """Tell the thread that a request is on its way while the block runs."""
        with self._counting:
            self._coming += 1
        try:
            yield
        finally:
            with self._counting:
                self._coming -= 1

    def silent_seconds(self) -> float | None:
        """Return the seconds since the thread last began or finished something; None if it has ended."""
        thread = self._thread
        return time.monotonic() - self._moved if thread is not None and thread.is_alive() else None

    @property
    def waiting(self) -> int:
        """Approximate number of requests that are in no batch yet."""
        return self._queue.qsize()

    def _run(self) -> None:
        while True:
            self._moved = time.monotonic()
            try:
                first = self._queue.get(timeout=self._beat_seconds)
            except queue.Empty:
                self._beat()
                continue
            batch, stopping = self._gather(first)
            if batch:
                started = time.monotonic()
                self._next = started + self._interval
                self._serve(batch)
                self._linger = min(time.monotonic() - started, LINGER_SECONDS)
            if stopping:
                return

    def _gather(self, first: _Waiting | None) -> tuple[list[_Waiting], bool]:
        """The requests of one batch, and whether to stop after it."""
        batch: list[_Waiting] = []
        count = 0
        deadline = time.monotonic() + self._linger
        earliest = self._next
        waiting = first
        while waiting is not None:
            batch.append(waiting)
            count += len(waiting[0])
            if count >= self._most:
                return batch, False
            now = time.monotonic()
            rest = max(earliest - now, deadline - now if self._coming > 0 else 0.0)
            try:
                waiting = self._queue.get(timeout=rest) if rest > 0 else self._queue.get_nowait()
            except queue.Empty:
                return batch, False
        return batch, True

    def _serve(self, batch: list[_Waiting]) -> None:
        """Append a batch and answer its requests. Neither a bad request nor a cancelled one ends the thread."""
        # From here on a request can no longer be cancelled; those cancelled before, after waiting too long, are dropped.
        batch = [entry for entry in batch if entry[1].set_running_or_notify_cancel()]
        requests = [candidates for candidates, _, _ in batch]
        senders = [sender for _, _, sender in batch]
        try:
            outcomes = self._log.work(requests, senders)
        except Exception as error:  # any failure is the answer to the waiting requests: the thread must survive it
            if is_trouble(error):
                outcomes = [error] * len(batch)
                self._give_up_waiting(error)
            elif len(batch) == 1:
                outcomes = [error]
                if not isinstance(error, RyeError):
                    _log.exception("a request failed")
            else:
                _log.warning(
                    "a batch of %d requests failed; trying each alone: %s",
                    len(batch),
                    error,
                    exc_info=not isinstance(error, RyeError),
                )
                outcomes = [self._alone(request, sender) for request, _, sender in batch]
        for (_, future, _), outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, Receipt):
                future.set_result(outcome)
            else:
                future.set_exception(outcome)
        self._log.tidy()

    def _give_up_waiting(self, error: Exception) -> None:
        """Refuse the requests queued after a batch that found no database or store: they would only wait for the same
        error.
        """
        _log.warning("nothing can be published: %s", error)
        waiting: list[_Waiting | None] = []
        while True:
            try:
                waiting.append(self._queue.get_nowait())
            except queue.Empty:
                break
        for entry in waiting:
            if entry is None:
                self._queue.put(None)  # stop comes last
            elif entry[1].set_running_or_notify_cancel():
                entry[1].set_exception(error)

    def _alone(self, request: tuple[Candidate, ...], sender: Sender | None) -> Outcome:
        """Retry one request of a failed batch. If the batch was committed after all, the request is now a duplicate."""
        try:
            return self._log.work([request], [sender])[0]
        except Exception as error:  # as in `_serve`: any failure becomes the answer to the waiting request
            if not isinstance(error, RyeError):
                _log.exception("a request failed")
            return error

    def _beat(self) -> None:
        try:
            self._log.heartbeat()
        except RyeError as error:
            _log.warning("the heartbeat failed and will be tried again: %s", error)
        except Exception:  # the thread must survive: publishing can work although the heartbeat fails
            _log.exception("the heartbeat failed and will be tried again")


def is_trouble(error: Exception) -> bool:
    """Whether the error is not the fault of any request, so that retrying them one by one is useless."""
    return isinstance(error, RyeError) and error.code in TROUBLE
