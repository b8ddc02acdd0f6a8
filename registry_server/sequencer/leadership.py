"""The current writer of the log: one row with an epoch that grows whenever another process takes over.

The writer's lock (:func:`registry_server.storage.database.writer`) admits one process at a time. The epoch fences off
the others: a batch commits only under the epoch in which it began, and a process that finds a different one knows that
another process has written, and must check the store again before it writes.

PostgreSQL ends the session of a writer that is silent in its transaction for ``leader_seconds``, so that another process can
take over. A request to a slow store would look the same, so a thread speaks for the writer while it waits for one
(:class:`Pinger`). It speaks at no other time: a process that is stopped, or hangs elsewhere, loses the lock, and each request
to the store has a time limit of its own.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import sqlalchemy as sa

from registry_server.storage import database
from registry_server.storage.prepared import Prepared, Row
from registry_server.storage.schema import REVISION, leader
from registry_server.storage.statement_batch import RowChange, StatementBatch
from rye.errors import RyeError

LEADER = Prepared(sa.select(leader.c.epoch, leader.c.holder).with_for_update())
"""The row of the current leader, which stays locked until the transaction ends."""
FOUND_REVISION = Prepared(sa.select(sa.literal_column("version_num")).select_from(sa.table("alembic_version")))
"""The revision that the database has now: a newer version may have upgraded it since this process opened it."""
_STILL = RowChange(
    leader.update()
    .where(leader.c.id == 1, leader.c.epoch == sa.bindparam("now"), leader.c.holder == sa.bindparam("whose"))
    .values(epoch=leader.c.epoch),
    "UPDATE leader SET epoch = leader.epoch FROM {rows} "
    "WHERE leader.id = 1 AND leader.epoch = given.now AND leader.holder = given.whose",
    {"now": "bigint", "whose": "text"},
)


@dataclass(frozen=True, slots=True)
class Term:
    """The period in which one process is the writer."""

    epoch: int
    is_new: bool
    """Whether another process wrote before."""


def holder_name() -> str:
    """A unique name for this process."""
    return f"{socket.gethostname()[:60]}:{os.getpid()}:{secrets.token_hex(6)}"


def require_revision(rows: Sequence[Row]) -> None:
    """Refuse to write to a database that a newer version upgraded while this process ran: what this version writes lacks what
    that one derives. ``rows``: the answer to :data:`FOUND_REVISION`. Raises RyeError ``database-too-new``."""
    revisions = {row[0] for row in rows}
    if revisions != {REVISION}:
        raise RyeError(
            "database-too-new",
            f"The database was upgraded to revision {', '.join(sorted(revisions))}, and this server's version knows {REVISION}.",
            "Publish again in a moment. The operator replaces this server by the newer version.",
        )


def take(connection: sa.Connection, holder: str, rows: Sequence[Row] | None = None) -> Term:
    """Become or remain the leader, in a transaction that holds the writer's lock.

    ``rows``: the answer to :data:`LEADER` in this transaction, if it has been asked.
    """
    rows = LEADER.rows(connection) if rows is None else rows
    if not rows:
        connection.execute(leader.insert().values(id=1, epoch=1, holder=holder))
        return Term(1, True)
    epoch: int = rows[0][0]
    if rows[0][1] == holder:
        return Term(epoch, False)
    connection.execute(leader.update().values(epoch=epoch + 1, holder=holder))
    return Term(epoch + 1, True)


@dataclass(frozen=True, slots=True)
class LeaderFence:
    """Writes only as long as no other process has taken over."""

    holder: str
    term: Term

    def run(self, connection: sa.Connection, changes: StatementBatch) -> None:
        """Write changes and check the term, both in one statement on PostgreSQL. Raises RyeError ``database-busy``."""
        if not changes.run(connection, guard=(_STILL, {"now": self.term.epoch, "whose": self.holder})):
            raise RyeError("database-busy", "Another process has taken over the log.", "Try again in a moment.")


def fence(connection: sa.Connection, holder: str, term: Term) -> LeaderFence | None:
    """Return the fence of a term. None on SQLite: its lock cannot be taken from a running process."""
    return None if connection.dialect.name == "sqlite" else LeaderFence(holder, term)


def confirm(connection: sa.Connection, holder: str, term: Term) -> None:
    """Check before a batch commits that no other process has taken over. Raises RyeError ``database-busy``."""
    fenced = fence(connection, holder, term)
    if fenced is not None:
        fenced.run(connection, StatementBatch())


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
