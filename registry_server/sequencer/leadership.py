"""The current writer of the log: one row with an epoch that grows whenever another process takes over.

The writer's lock (:func:`registry_server.storage.database.writer`) admits one process at a time. The epoch fences off
the others: a batch commits only under the epoch in which it began, and a process that finds a different one knows that
another process has written, and must check the store again before it writes.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from registry_server.storage.prepared import Prepared, Row
from registry_server.storage.schema import leader
from registry_server.storage.statement_batch import RowChange, StatementBatch
from rye.errors import RyeError

LEADER = Prepared(sa.select(leader.c.epoch, leader.c.holder).with_for_update())
"""The row of the current leader, which stays locked until the transaction ends."""
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
