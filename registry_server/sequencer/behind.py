"""What no batch waits for, in a thread of its own: deleting files, copying SQLite's log, settling the text index."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

import sqlalchemy as sa

from registry_server.search import documents as search
from registry_server.storage import database
from rye.errors import RyeError

_log = logging.getLogger("rye.registry")

_COPIED_SECONDS = 4.0
"""How often SQLite's write-ahead log is copied while batches follow each other: some 45 MB of it."""
_SETTLING_SECONDS = 10.0
"""How long the text index is settled at a time, at most: a million items' takes some minutes."""
_UNSETTLED_SECONDS = 60.0
"""How long SQLite's index waits for a heartbeat: a registry that publishes all the time has none, and settles after a batch."""
_PAUSE_SECONDS = 0.02
"""Between two steps, for others who write; at least."""
_PAUSE_STEPS = 2.0
"""The same in times of the step before: SQLite wakes nobody who waits for its lock, so others could miss a short pause again and
again after long steps."""


class Behind:
    """The thread. Its methods can be called from any other, and return at once."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._thread = ThreadPoolExecutor(1, "behind")
        self._begun = 0
        """Batches that have begun."""
        self._copied = time.monotonic()
        """When SQLite's write-ahead log was last copied into the database's file."""
        self._is_due = False
        """Whether settling waits for its turn."""
        self._settled = time.monotonic()
        """When the text index was settled last."""
        self._unsettled = ""
        """Why it was not to the end, the last time."""
        self._ends = threading.Event()

    def start(self) -> None:
        """Settle again after :meth:`stop`."""
        self._ends.clear()

    def stop(self) -> None:
        """Settle no longer."""
        self._ends.set()

    def finish(self, seconds: float | None = None) -> bool:
        """Wait for what was to be done so far; False if that takes longer."""
        with suppress(TimeoutError):
            self.later(lambda: None).result(seconds)
            return True
        return False

    def later(self, work: Callable[[], None]) -> Future[None]:
        """Do something. A mistake in the program is logged: nobody asks for the result."""

        def done() -> None:
            try:
                work()
            except Exception:  # the next work must not suffer from it
                _log.exception("something behind the batches failed")

        return self._thread.submit(done)

    def give_way(self) -> None:
        """A batch begins, here or in another process of this server."""
        self._begun += 1

    def after_batch(self) -> None:
        """Do what is due after a batch that has been answered."""
        if self._is_copy_due():
            self.later(self._copy_log)
        if self._engine.dialect.name == "postgresql" or time.monotonic() - self._settled > _UNSETTLED_SECONDS:
            self.settle()

    def settle(self) -> None:
        """Settle the text index, as long as no batch begins, but no longer than some seconds."""
        if not self._is_due:
            self._is_due = True
            self.later(self._settle)

    def _settle(self) -> None:
        self._is_due = False
        self._settled = time.monotonic()
        begun, until = self._begun, self._settled + _SETTLING_SECONDS
        try:
            while True:
                started = time.monotonic()
                is_more = search.settle_index(self._engine)
                ended = time.monotonic()
                if not is_more or begun != self._begun or ended >= until:
                    break
                self._copy_log()
                if self._ends.wait(max(_PAUSE_SECONDS, _PAUSE_STEPS * (ended - started))):
                    break
            self._unsettled = ""
        except RyeError as error:
            if str(error) != self._unsettled:  # it is tried after each batch
                _log.warning("the search index was not settled and will be at the next heartbeat: %s", error)
            self._unsettled = str(error)

    def _is_copy_due(self) -> bool:
        return time.monotonic() - self._copied > _COPIED_SECONDS

    def _copy_log(self) -> None:
        """Copy SQLite's write-ahead log, if it is time: otherwise some commit would have to do it."""
        if self._is_copy_due():
            self._copied = time.monotonic()
            database.checkpoint(self._engine)
