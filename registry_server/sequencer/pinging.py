"""Tells PostgreSQL that a writer lives while it waits for the store.

PostgreSQL ends the session of a writer that is silent in its transaction for ``leader_seconds``, so that another process can
take over. A request to a slow store would look the same, so a thread speaks for the writer while it waits for one. It speaks
at no other time: a process that is stopped, or hangs elsewhere, loses the lock as before, and each request to the store has
a time limit of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import sqlalchemy as sa

from registry_server.storage import database

_PER_LIMIT = 4
"""Pings within the time that a writer may be silent."""


class Pinger:
    """One thread for the writing transactions of one process."""

    def __init__(self, idle_seconds: float, is_awaited: Callable[[int], bool]) -> None:
        """``is_awaited``: whether a thread waits for the store."""
        self._seconds = max(idle_seconds / _PER_LIMIT, 0.05)
        self._is_awaited = is_awaited
        self._changed = threading.Condition()
        self._watched: tuple[sa.Connection, int] | None = None
        self._thread: threading.Thread | None = None

    @contextmanager
    def speaking_for(self, connection: sa.Connection) -> Iterator[None]:
        """A block of this thread within a writing transaction on PostgreSQL. The connection is not used once it has ended."""
        if connection.dialect.name != "postgresql":
            yield
            return
        with self._changed:
            self._watched = (connection, threading.get_ident())
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="store-ping", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._changed:
                self._watched = None

    def _run(self) -> None:
        with self._changed:
            while True:
                self._changed.wait(self._seconds)
                if self._watched is not None and self._is_awaited(self._watched[1]):
                    with suppress(*database.driver_errors()):  # the writer meets the same error
                        database.ping(self._watched[0])
