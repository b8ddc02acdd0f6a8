"""Where searches are answered: beside everything else, by threads and database connections of their own.

At most ``search_threads`` searches run at the same moment and ``search_waiting`` wait. Any further one is refused at once
(``busy``: 503 with ``Retry-After``), before it cost anything. So searches take neither threads nor connections that publishing
or the health check need, however many people search. PostgreSQL gives a search up after ``search_seconds``; SQLite's work is
bounded by the questions it is asked.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from registry_server.search.finding import Found, find
from registry_server.settings import Settings
from registry_server.storage import database
from rye.errors import RyeError

#: How PostgreSQL plans a search: from the words that are asked for, without helpers, and in the rows' order, so that the
#: same query finds the same among many.
_SESSION = ("jit = off", "max_parallel_workers_per_gather = 0", "synchronize_seqscans = off",
            "default_transaction_read_only = on")  # fmt: skip

_CACHE_KILOBYTES = 16_000
"""Pages of the database that each connection to SQLite keeps: a search looks at a thousand rows that are all over the file."""


def search_engine(settings: Settings) -> sa.Engine:
    """Connections that only read and that give up early. The database is at the newest revision already."""
    engine = database.engine_of(
        settings.database_url, wait_seconds=settings.search_seconds, idle_seconds=settings.leader_seconds
    )

    def set_up(connection: Any, _record: object) -> None:
        if engine.dialect.name == "sqlite":
            connection.execute("PRAGMA query_only=ON")
            connection.execute(f"PRAGMA cache_size=-{_CACHE_KILOBYTES}")
            return
        connection.prepare_threshold = None  # a plan for any words would be a bad one for most
        with connection.cursor() as cursor:
            for assignment in (*_SESSION, f"statement_timeout = {int(settings.search_seconds * 1000)}"):
                cursor.execute(f"SET {assignment}")
        connection.commit()

    event.listen(engine, "connect", set_up)
    return engine


class SearchDesk:
    """Answers searches. Safe to use from several threads."""

    def __init__(self, settings: Settings) -> None:
        self._engine = search_engine(settings)
        self._threads = ThreadPoolExecutor(max(settings.search_threads, 1), thread_name_prefix="rye-search")
        self._places = threading.BoundedSemaphore(max(settings.search_threads, 1) + max(settings.search_waiting, 0))
        self.taken = 0
        """Searches at work or waiting."""
        self._counting = threading.Lock()

    def ask(
        self,
        query: str,
        *,
        kind: str | None = None,
        namespace: str | None = None,
        visible: Collection[str] | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> Future[Found]:
        """The answer to come (:func:`registry_server.search.finding.find`). Raises RyeError ``busy`` where no place is left."""
        if not self._places.acquire(blocking=False):
            raise RyeError("busy", "The registry is answering too many searches.", "Try again in a moment.")

        self._count(1)

        def work() -> Found:
            with database.reader(self._engine) as connection:
                return find(
                    connection, query, kind=kind, namespace=namespace, visible=visible, limit=limit, offset=offset
                )

        try:
            answer = self._threads.submit(work)
        except RuntimeError:  # closed
            self._count(-1)
            raise RyeError("busy", "The registry is stopping.", "Try again in a moment.") from None
        answer.add_done_callback(lambda _done: self._count(-1))
        return answer

    def _count(self, step: int) -> None:
        with self._counting:
            self.taken += step
        if step < 0:
            self._places.release()

    def close(self) -> None:
        """Answer no more; what is being answered may finish."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._engine.dispose()
