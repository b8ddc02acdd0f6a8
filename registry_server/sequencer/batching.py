"""Concurrent requests become batches: one thread takes the waiting requests, appends them as one batch, and answers
each.

A batch costs the same syncs, signatures and transactions whatever its size, so it is worth a short wait to make it
larger. :func:`rest` decides when a batch begins:

1. A request that comes alone never waits.
2. While other requests are being examined, the batch waits for them, but no longer than the previous batch took.
3. If the previous batch had several requests, or others were waiting when it was answered, several publishers are at
   work. Those just answered often publish again at once, so the batch waits for a short pause between arrivals, but no
   longer than by rule 2.
4. A batch of enough requests begins at once: more would hardly make one cheaper.
5. Batches keep the interval that the operator set. A full batch begins at once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
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
        "clock-ahead",
        "clock-jumped",
        "database-behind",
        "database-busy",
        "database-damaged",
        "database-too-new",
        "database-unavailable",
        "log-key-missing",
        "root-expired",
        "storage-full",
        "store-credentials",
        "store-foreign",
        "store-silent",
        "store-unavailable",
        "writer-silent",
    }
)
"""Errors of the database, the store, the clock or the root, not of a request: all waiting requests fail, and the operator
has to act."""
LINGER_SECONDS = 0.03
"""The longest wait for requests that are being examined."""
PAUSE_SECONDS = 0.003
"""A gap between arrivals after which publishers that were just answered are not expected back soon."""
ENOUGH = 12
"""Requests that share the fixed cost of a batch, which is about that of twenty publishes. Waiting for more would leave the
process that examines requests idle while a batch is appended, and the one that appends idle while the next is examined."""


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

    def tidy_soon(self) -> None:
        """Clean up after a batch whose requests have been answered."""

    def heartbeat(self) -> bool:
        """Sign a new head if the newest is too old; returns whether it did."""


@dataclass(frozen=True, slots=True)
class Pace:
    """What the previous batches say about when the next one begins. Times are seconds on the monotonic clock."""

    earliest: float = 0.0
    """The operator's interval has passed."""
    patience: float = 0.0
    """How long a batch waits for other requests, from its first request on."""
    is_crowded: bool = False
    """Whether the previous batch had several requests, or others were waiting when it was answered."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """What is known about the requests of the next batch."""

    first: float
    """When the first of them was taken up."""
    waiting: int
    """How many there are."""
    coming: int
    """How many are being examined."""
    newest: float
    """When a request arrived last, or the previous batch was answered."""


def rest(pace: Pace, crowd: Crowd, now: float) -> float:
    """Return how many seconds a batch that is not full still has to wait; 0: it begins now."""
    until = pace.earliest
    if crowd.waiting < ENOUGH:
        longest = crowd.first + pace.patience
        if crowd.coming > 0:
            until = max(until, longest)
        elif pace.is_crowded:
            until = max(until, min(crowd.newest + PAUSE_SECONDS, longest))
    return max(until - now, 0.0)


@dataclass(slots=True)
class Expected:
    """A request that is on its way."""

    is_over: bool = False
    """Whether it was submitted or given up."""


class Batches:
    """The queue and its thread. Safe to use from several threads."""

    def __init__(self, log: Appends, most_statements: int, beat_seconds: float, interval_seconds: float = 0.0) -> None:
        self._log = log
        self._most = most_statements
        self._beat_seconds = max(beat_seconds, 0.05)
        self._interval = interval_seconds
        self._thread: threading.Thread | None = None
        self._pace = Pace()
        self._moved = time.monotonic()
        # The rest is guarded by this condition. The thread is notified only when it may have something to do, not of
        # every request that a batch waits for.
        self._changed = threading.Condition(threading.Lock())
        self._queue: deque[_Waiting] = deque()
        self._statements = 0
        """In the queue."""
        self._coming = 0
        self._newest = 0.0
        self._stopping = False
        self._beaten: Future[None] | None = None
        """Someone waits for the next heartbeat."""
        self._told = ""
        """The code of the error that the last heartbeat met."""

    def start(self) -> None:
        """Start the thread."""
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="sequencer", daemon=True)
        self._thread.start()

    def stop(self, seconds: float | None = None) -> bool:
        """Finish the waiting requests, then stop; False if that takes longer than ``seconds``."""
        if self._thread is not None:
            with self._changed:
                self._stopping = True
                self._changed.notify()
            self._thread.join(seconds)
            if self._thread.is_alive():
                return False
            self._thread = None
        return True

    def submit(
        self, candidates: Sequence[Candidate], sender: Sender | None, expected: Expected | None = None
    ) -> Future[Receipt]:
        """Queue one request. The future gets its receipt, or the error that refused it.

        ``expected``: from :meth:`expecting`, whose request this is.
        """
        future: Future[Receipt] = Future()
        with self._changed:
            if expected is not None and not expected.is_over:
                expected.is_over = True
                self._coming -= 1
            self._queue.append((tuple(candidates), future, sender))
            self._statements += len(candidates)
            if len(self._queue) == 1 or self._coming == 0 or self._statements >= self._most:
                self._changed.notify()
        return future

    @contextmanager
    def expecting(self) -> Iterator[Expected]:
        """Tell the thread that a request is on its way, until it is submitted or the block ends."""
        expected = Expected()
        with self._changed:
            self._coming += 1
            self._newest = time.monotonic()
        try:
            yield expected
        finally:
            with self._changed:
                if not expected.is_over:
                    expected.is_over = True
                    self._coming -= 1
                    if self._coming == 0 and self._queue:
                        self._changed.notify()

    def beat_soon(self) -> Future[None]:
        """Let the heartbeat come now, or after the batches that wait. Done when it is over; several callers share one."""
        with self._changed:
            if self._beaten is None:
                self._beaten = Future()
            self._changed.notify()
            return self._beaten

    def silent_seconds(self) -> float | None:
        """Return the seconds since the thread last began or finished something; None if it has ended."""
        thread = self._thread
        return time.monotonic() - self._moved if thread is not None and thread.is_alive() else None

    @property
    def waiting(self) -> int:
        """Approximate number of requests that are in no batch yet."""
        return len(self._queue)

    def _run(self) -> None:
        while True:
            self._moved = time.monotonic()
            batch = self._gather()
            if batch:
                started = time.monotonic()
                self._serve(batch)
                ended = time.monotonic()
                with self._changed:
                    self._newest = max(self._newest, ended)
                    is_crowded = len(batch) > 1 or bool(self._queue)
                patience = min(ended - started, LINGER_SECONDS)
                self._pace = Pace(started + self._interval, patience, is_crowded)
            elif self._stopping:
                return
            else:
                self._beat()

    def _gather(self) -> list[_Waiting]:
        """Wait for the requests of one batch. Returns an empty list if none came for a while, or on :meth:`stop`."""
        with self._changed:
            if not self._queue and not self._stopping and self._beaten is None:
                self._changed.wait(self._beat_seconds)
            first = time.monotonic()
            while self._queue and self._statements < self._most and not self._stopping:
                crowd = Crowd(first, len(self._queue), self._coming, self._newest)
                seconds = rest(self._pace, crowd, time.monotonic())
                if seconds <= 0:
                    break
                self._changed.wait(seconds)
            batch: list[_Waiting] = []
            count = 0
            while self._queue and count < self._most:
                batch.append(self._queue.popleft())
                count += len(batch[-1][0])
            self._statements -= count
            return batch

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
        self._log.tidy_soon()

    def _give_up_waiting(self, error: Exception) -> None:
        """Refuse the requests queued after a batch that found no database or store: they would only wait for the same
        error.
        """
        _log.warning("nothing can be published: %s", error)
        with self._changed:
            waiting = list(self._queue)
            self._queue.clear()
            self._statements = 0
        for _, future, _ in waiting:
            if future.set_running_or_notify_cancel():
                future.set_exception(error)

    def _alone(self, request: tuple[Candidate, ...], sender: Sender | None) -> Outcome:
        """Retry one request of a failed batch. If the batch was committed after all, the request is now a duplicate."""
        try:
            return self._log.work([request], [sender])[0]
        except Exception as error:  # as in `_serve`: any failure becomes the answer to the waiting request
            if not isinstance(error, RyeError):
                _log.exception("a request failed")
            return error

    def _beat(self) -> None:
        with self._changed:
            beaten, self._beaten = self._beaten, None
        try:
            self._log.heartbeat()
            self._told = ""
        except RyeError as error:
            if error.code != self._told:  # readiness checks may ask for one every second
                _log.warning("the heartbeat failed and will be tried again: %s", error)
            self._told = error.code
        except Exception:  # the thread must survive: publishing can work although the heartbeat fails
            _log.exception("the heartbeat failed and will be tried again")
        finally:
            if beaten is not None and beaten.set_running_or_notify_cancel():
                beaten.set_result(None)


def is_trouble(error: Exception) -> bool:
    """Whether the error is not the fault of any request, so that retrying them one by one is useless."""
    return isinstance(error, RyeError) and error.code in TROUBLE
