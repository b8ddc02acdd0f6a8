"""Answer searches, with separate threads and database connections.

At most ``search_threads`` searches run at the same time and ``search_waiting`` wait. Any more are refused at once, at
no cost (``busy``: 503 with ``Retry-After``). So however many people search, publishing and the health check keep their
threads and connections. PostgreSQL cancels a search after ``search_seconds``; on SQLite the queries themselves bound
the work.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import Future
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event

from registry_server.search.finding import SearchResults, find
from registry_server.search.orders import Order
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.bounded_threads import BoundedThreads

_T = TypeVar("_T")
#: How PostgreSQL runs a search: without JIT and parallel workers, and always in the order of the rows, so that the same query
#: finds the same results among many. It expects that any limit is reached early, so it would rather read the whole table than
#: look up 64 namespaces in the index. With less memory, it would remember pages instead of the rows of a common word, and
#: compare every row of those pages.
_SESSION = ("jit = off", "max_parallel_workers_per_gather = 0", "enable_seqscan = off", "synchronize_seqscans = off",
            "work_mem = '16MB'", "default_transaction_read_only = on")  # fmt: skip

_CACHE_KILOBYTES = 16_000
"""Pages of the database that each connection to SQLite keeps: a search looks at a thousand rows that are all over the file."""


def search_engine(settings: Settings) -> sa.Engine:
    """Return an engine with read-only connections and a short timeout. The database must be at the newest revision."""
    engine = database.engine_of(
        settings.database_url, wait_seconds=settings.search_seconds, idle_seconds=settings.leader_seconds
    )

    def set_up(connection: Any, _record: object) -> None:
        if engine.dialect.name == "sqlite":
            connection.execute("PRAGMA query_only=ON")
            connection.execute(f"PRAGMA cache_size=-{_CACHE_KILOBYTES}")
            return
        connection.prepare_threshold = None  # a generic plan would be bad for most words
        with connection.cursor() as cursor:
            for assignment in (*_SESSION, f"statement_timeout = {int(settings.search_seconds * 1000)}"):
                cursor.execute(f"SET {assignment}")
        connection.commit()

    event.listen(engine, "connect", set_up)
    return engine


class SearchPool:
    """Answer searches. Thread-safe."""

    def __init__(self, settings: Settings) -> None:
        self._engine = search_engine(settings)
        self._threads = BoundedThreads(
            "rye-search",
            settings.search_threads,
            settings.search_waiting,
            "The registry is answering too many searches.",
        )
        self._looks = BoundedThreads(
            "rye-similar", 1, settings.search_waiting, "The registry is looking for too many similar names."
        )

    @property
    def taken(self) -> int:
        """How many searches run or wait."""
        return self._threads.taken

    def ask(
        self,
        query: str,
        *,
        kind: str | None = None,
        namespace: str | None = None,
        visible: Collection[str] | None = None,
        limit: int = 20,
        offset: int = 0,
        order: Order = "relevance",
        is_counted: bool = False,
    ) -> Future[SearchResults]:
        """Run :func:`registry_server.search.finding.find` in a thread and return its future. Raises RyeError
        ``busy``."""

        def work(connection: sa.Connection) -> SearchResults:
            return find(
                connection,
                query,
                kind=kind,
                namespace=namespace,
                visible=visible,
                limit=limit,
                offset=offset,
                order=order,
                is_counted=is_counted,
            )

        return self._threads.submit(self._reading(work))

    def look(self, work: Callable[[sa.Connection], _T]) -> Future[_T]:
        """Look for similar names in their one thread, which takes no search's place, and return the future. Raises RyeError
        ``busy``."""
        return self._looks.submit(self._reading(work))

    def _reading(self, work: Callable[[sa.Connection], _T]) -> Callable[[], _T]:
        def run() -> _T:
            with database.reader(self._engine) as connection:
                return work(connection)

        return run

    def close(self) -> None:
        """Accept no more searches. Running ones finish."""
        self._threads.close()
        self._looks.close()
        self._engine.dispose()
