"""Concurrent requests become batches: one thread takes what waits, has it appended as one batch, and answers each request.

A batch begins at once when a request comes and nothing else is on its way. While other requests are being examined, but not
longer than the batch before took, the thread waits for them: a batch costs the same syncs and signatures however many it holds.
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
"""Errors of the database or the store, not of a request: all that waits fails, and it is for the operator to act."""
LINGER_SECONDS = 0.03
"""The longest wait for requests that are being examined."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What one request came to: a result for each of its statements, and a checkpointed size that covers them."""

    results: tuple[Admitted, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender of a request, for the operator's records."""

    token: str
    """The token's public ID."""
    address: str
    """Of the machine that spoke to this server; a proxy's, where there is one that is not trusted to tell."""
    account: str | None = None
    """The token's account; None: a token that the operator created without one."""


Outcome = Receipt | Exception
_Waiting = tuple[tuple[Candidate, ...], Future[Receipt], Sender | None]


class Appends(Protocol):
    """What a batch is handed to."""

    def work(
        self, requests: Sequence[Sequence[Candidate]], senders: Sequence[Sender | None] | None
    ) -> list[Outcome]: ...

    def tidy(self) -> None: ...

    def heartbeat(self) -> bool: ...


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
        """When the next batch may begin."""
        self._coming = 0
        self._counting = threading.Lock()
        self._linger = 0.0
        self._moved = time.monotonic()

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="sequencer", daemon=True)
        self._thread.start()

    def stop(self, seconds: float | None = None) -> bool:
        """Finish what waits, then stop; False when that takes longer than ``seconds``."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(seconds)
            if self._thread.is_alive():
                return False
            self._thread = None
        return True

    def submit(self, candidates: Sequence[Candidate], sender: Sender | None) -> Future[Receipt]:
        future: Future[Receipt] = Future()
        self._queue.put((tuple(candidates), future, sender))
        return future

    @contextmanager
    def expecting(self) -> Iterator[None]:
        """While the block runs, a request is on its way here."""
        with self._counting:
            self._coming += 1
        try:
            yield
        finally:
            with self._counting:
                self._coming -= 1

    def silent_seconds(self) -> float | None:
        """How long ago the thread last began or finished something; None: it has ended."""
        thread = self._thread
        return time.monotonic() - self._moved if thread is not None and thread.is_alive() else None

    @property
    def waiting(self) -> int:
        """Approximate number of requests that no batch has taken yet."""
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
        """Append a batch and answer it; nothing that a request does or its sender cancels ends the thread."""
        # From here on nobody can cancel; who did before, because the answer took too long, is left out.
        batch = [entry for entry in batch if entry[1].set_running_or_notify_cancel()]
        requests = [candidates for candidates, _, _ in batch]
        senders = [sender for _, _, sender in batch]
        try:
            outcomes = self._log.work(requests, senders)
        except (
            Exception
        ) as error:  # whatever fails is the answer of those who wait: the thread must go on for all others
            if is_trouble(error):
                outcomes = [error] * len(batch)
                self._give_up_waiting(error)
            elif len(batch) == 1:
                outcomes = [error]
                if not isinstance(error, RyeError):
                    _log.exception("a request failed")
            else:
                _log.warning(
                    "a batch of %d requests failed, each is tried alone: %s",
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
        """Requests that waited behind a batch which found no database or store need not wait for the same again."""
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
        """One request of a batch that failed as a whole; what the batch had committed all the same is a duplicate now."""
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
            _log.warning("the heartbeat failed; it will be tried again: %s", error)
        except Exception:  # the thread must survive: publishing can work although the heartbeat fails
            _log.exception("the heartbeat failed; it will be tried again")


def is_trouble(error: Exception) -> bool:
    """Whether no request can be blamed: to try each alone would only take longer."""
    return isinstance(error, RyeError) and error.code in TROUBLE
