"""Changes to accounts, rights and releases: append-only rows, each with the hash of the row before.

The hash of row *n* is SHA-256 over the hash of row *n-1* (64 zeros for the first), LF, and the row's other values as compact
JSON with sorted keys. ``audit_head`` holds the number of rows and the last hash, so :func:`problems` finds a row that was
changed, removed, inserted or moved. An attacker who can write to the whole database can still compute a new chain, so keep
copies of the last hash elsewhere: :func:`head` returns it, webhooks and backups carry it, and with ``audit_in_head`` every signed
head does, which all clients and mirrors keep (:func:`problems_before`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from registry_server.storage.schema import audit_events, audit_head
from rye.registry.protocol.statements import AuditHead

FIRST = "0" * 64
OPERATOR = "operator"
"""The actor of ``rye-registry`` commands run on the server."""
_ROWS = 1000


class AuditEvent(Struct, frozen=True, kw_only=True):
    """One row of the chain."""

    position: int
    time: str
    actor: str
    address: str
    action: str
    subject: str
    detail: dict[str, Any]
    hash: str

    def as_json(self) -> dict[str, object]:
        """The event as ``rye-registry audit-events --json`` shows it."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


def record(
    connection: sa.Connection,
    now: str,
    action: str,
    subject: str,
    *,
    actor: str = OPERATOR,
    address: str = "",
    detail: Mapping[str, object] | None = None,
) -> None:
    """Append one event, in the transaction of the change that it records."""
    lock = sa.select(audit_head).where(audit_head.c.id == 1).with_for_update()
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("LOCK TABLE audit_head IN EXCLUSIVE MODE"))
    last = connection.execute(lock).first()
    position, previous = (last.size, last.hash) if last is not None else (0, FIRST)
    row: dict[str, object] = {
        "position": position,
        "time": now,
        "actor": actor[:140],
        "address": address[:64],
        "action": action,
        "subject": subject[:1400],
        "detail": json.dumps(dict(detail or {}), ensure_ascii=False, sort_keys=True, separators=(",", ":")),
        "previous": previous,
    }
    value = _hash(row)
    connection.execute(audit_events.insert().values({**row, "hash": value}))
    head_row = {"size": position + 1, "hash": value}
    if last is None:
        connection.execute(audit_head.insert().values(id=1, **head_row))
    else:
        connection.execute(audit_head.update().values(head_row))


def head(connection: sa.Connection) -> tuple[int, str]:
    """The number of events and the last one's hash."""
    row = connection.execute(sa.select(audit_head)).first()
    return (row.size, row.hash) if row is not None else (0, FIRST)


def listing(connection: sa.Connection, since: int = 0, most: int | None = None) -> Iterator[AuditEvent]:
    """Events from a position on, oldest first."""
    query = sa.select(audit_events).where(audit_events.c.position >= since).order_by(audit_events.c.position)
    for row in connection.execute(query.limit(most) if most is not None else query):
        yield _event(row)


def about(connection: sa.Connection, action: str, subject: str, looked_at: int) -> Iterator[AuditEvent]:
    """Events of one action on one subject among the newest ``looked_at``, oldest first."""
    row = audit_events.c
    where = (row.position >= head(connection)[0] - looked_at, row.action == action, row.subject == subject)
    for found in connection.execute(sa.select(audit_events).where(*where).order_by(row.position)):
        yield _event(found)


def _event(row: sa.Row[Any]) -> AuditEvent:
    return AuditEvent(
        position=row.position,
        time=row.time,
        actor=row.actor,
        address=row.address,
        action=row.action,
        subject=row.subject,
        detail=json.loads(row.detail),
        hash=row.hash,
    )


def has_happened(connection: sa.Connection, action: str, subject: str) -> bool:
    """Whether there is such an event."""
    row = audit_events.c
    found = sa.select(row.position).where(row.action == action, row.subject == subject).limit(1)
    return connection.scalar(found) is not None


def tokens_by_creator(connection: sa.Connection) -> Iterator[tuple[str, str]]:
    """The IDs of creator and token for each token that another token created, oldest first."""
    row = audit_events.c
    query = sa.select(row.actor, row.subject).where(row.action == "token.create", row.actor.like("token:%"))
    for actor, subject in connection.execute(query.order_by(row.position)):
        yield actor.removeprefix("token:"), subject.removeprefix("token:")


def problems_before(connection: sa.Connection, then: AuditHead) -> list[str]:
    """What is wrong with the chain up to an end that a signed checkpoint named; empty: it is the same chain."""
    size, value = head(connection)
    if then.size == size:
        known: str | None = value
    elif then.size == 0:
        known = FIRST
    else:
        known = connection.scalar(sa.select(audit_events.c.hash).where(audit_events.c.position == then.size - 1))
    if then.size > size or known is None:
        return [f"The chain has {size} audit events, but a signed head counted {then.size}: some were removed."]
    if known != then.sha256:
        return [f"The chain's first {then.size} audit events are not those that a signed head counted."]
    return []


def problems(connection: sa.Connection) -> list[str]:
    """Problems of the chain, recomputed from its first row; only the first break, as it invalidates everything after it."""
    previous, expected = FIRST, 0
    rows = connection.execution_options(yield_per=_ROWS).execute(
        sa.select(audit_events).order_by(audit_events.c.position)
    )
    for row in rows:
        values = dict(row._mapping)
        value = values.pop("hash")
        if row.position != expected:
            return [f"audit event {expected} is missing: {row.position} follows {expected - 1}"]
        if row.previous != previous:
            return [f"audit event {row.position} does not follow the one before it"]
        if _hash(values) != value:
            return [f"audit event {row.position} was changed after it was written"]
        previous, expected = value, expected + 1
    if head(connection) != (expected, previous):
        return [f"the chain of audit events ends at {expected}, but the database recorded {head(connection)[0]}"]
    return []


def _hash(row: Mapping[str, object]) -> str:
    values = {name: value for name, value in row.items() if name != "previous"}
    text = json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{row['previous']}\n{text}".encode()).hexdigest()
