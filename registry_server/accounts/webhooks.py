"""Webhooks: subscriptions to log entries, and the outcome of each delivery. Events derive from the log, so none is lost.

A body is JSON; its header ``X-Rye-Signature: sha256=<hex>`` is HMAC-SHA256 over the body's bytes under the webhook's secret. A
failed delivery is retried with increasing pauses, then given up.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

import sqlalchemy as sa
from msgspec import Struct

from registry_server.accounts import audit_events
from registry_server.accounts.guarded_http import refuse_address
from registry_server.accounts.times import after
from registry_server.storage.schema import deliveries, log_entries, registry, webhooks
from rye.errors import RyeError
from rye.items.identity import is_segment
from rye.registry.protocol import notes, statements
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.statements import (
    Advisory,
    Deprecation,
    Keyset,
    Logged,
    OfTheLog,
    OwnerStatement,
    Release,
    Takedown,
    Yank,
)
from rye.registry.transport.guarded import Network

EVENTS: dict[str, type] = {
    "release": Release,
    "yank": Yank,
    "deprecation": Deprecation,
    "advisory": Advisory,
    "keyset": Keyset,
    "takedown": Takedown,
}
PAUSES = (10, 60, 300, 1800, 7200, 21_600, 43_200, 86_400)
"""Seconds before each new attempt; after the last one a delivery is given up."""
_LEASE_SECONDS = 120
"""How long a delivery is reserved for one process."""
_KEPT_SECONDS = 30 * 86_400
_CURSOR = "webhooks-position"
_ROWS = 200


Row = dict[str, Any]
"""One delivery as :func:`history` returns it: the columns of its table."""


class Webhook(Struct, frozen=True):
    """One subscription: an address, and the events that it receives."""

    id: str
    url: str
    namespace: str
    """Empty: all."""
    events: tuple[str, ...]
    secret: str
    created: str

    def as_json(self) -> dict[str, object]:
        """Without the secret."""
        return {
            "id": self.id,
            "url": self.url,
            "namespace": self.namespace or None,
            "events": list(self.events),
            "created": self.created,
        }


class Delivery(Struct, frozen=True):
    """A delivery that is due, with its destination."""

    id: str
    url: str
    secret: str
    event: str
    body: str
    attempts: int
    """Including this one."""


def add(
    connection: sa.Connection,
    url: str,
    namespace: str,
    events: Sequence[str],
    now: str,
    inside: Sequence[Network] = (),
) -> Webhook:
    """Add a webhook. ``inside``: networks whose addresses it may have. Raises RyeError ``invalid-value``,
    ``private-address``."""
    try:
        parts = urlsplit(url)
        bad = "@" in parts.netloc or parts.fragment or not parts.hostname or parts.port == 0 or len(url) > 2000
    except ValueError:  # not an address, or no valid port
        bad = True
    if bad or parts.scheme != "https" or not url.isascii() or not url.isprintable() or " " in url:
        raise RyeError(
            "invalid-value",
            f"{url[:200]!r} is not an address for a webhook.",
            "Give https://host/path.",
            what="webhook",
        )
    refuse_address(str(parts.hostname), inside)
    if namespace and not is_segment(namespace):
        raise RyeError(
            "invalid-value",
            f"{namespace[:80]!r} is not a namespace.",
            "Use a-z, 0-9, - and _, at most 64.",
            what="namespace",
        )
    unknown = [event for event in events if event not in EVENTS]
    if unknown:
        raise RyeError(
            "invalid-value", f"{unknown[0][:80]!r} is not an event.", f"Events: {', '.join(EVENTS)}.", what="webhook"
        )
    if connection.scalar(sa.select(sa.func.count()).select_from(webhooks)) == 0:
        _move(connection, _log_size(connection))  # earlier entries are not announced
    wanted = tuple(dict.fromkeys(events))
    webhook = Webhook(secrets.token_hex(8), url, namespace, wanted, secrets.token_urlsafe(32), now)
    row = {name: getattr(webhook, name) for name in webhook.__struct_fields__}
    connection.execute(webhooks.insert().values({**row, "events": " ".join(wanted)}))
    return webhook


def remove(connection: sa.Connection, identifier: str) -> Webhook:
    """Remove a webhook and give up its pending deliveries. Raises RyeError ``no-such-entry``."""
    row = connection.execute(sa.select(webhooks).where(webhooks.c.id == identifier)).first()
    if row is None:
        raise RyeError(
            "no-such-entry",
            f"There is no webhook {identifier[:80]!r}.",
            "`rye-registry webhook list` shows all webhooks.",
            what="webhook",
        )
    connection.execute(webhooks.delete().where(webhooks.c.id == identifier))
    waiting = sa.and_(deliveries.c.webhook == identifier, deliveries.c.due.is_not(None))
    connection.execute(deliveries.update().where(waiting).values(due=None, error="The webhook was removed."))
    return _webhook(row)


def listing(connection: sa.Connection) -> list[Webhook]:
    """All webhooks, oldest first."""
    return [_webhook(row) for row in connection.execute(sa.select(webhooks).order_by(webhooks.c.created))]


def history(connection: sa.Connection, most: int, webhook: str | None = None) -> list[Row]:
    """Deliveries, newest first."""
    query = sa.select(deliveries).order_by(deliveries.c.created.desc(), deliveries.c.id).limit(most)
    if webhook is not None:
        query = query.where(deliveries.c.webhook == webhook)
    return [dict(row._mapping) for row in connection.execute(query)]


def state_of(row: Row) -> str:
    """The state of one delivery of :func:`history`: ``delivered``, ``due TIME`` or ``given up``."""
    if row["delivered"]:
        return "delivered"
    return f"due {row['due']}" if row["due"] else "given up"


def collect(connection: sa.Connection, origin: str, now: str) -> int:
    """Create deliveries for entries logged since the last call, a limited number at a time; returns how many."""
    hooks = listing(connection)
    size, start = _log_size(connection), _cursor(connection)
    if not hooks or start is None:
        _move(connection, size)
        return 0
    entries = log_entries
    rows = connection.execute(
        sa.select(entries.c.position, entries.c.leaf)
        .where(entries.c.position >= start)
        .order_by(entries.c.position)
        .limit(_ROWS)
    ).all()
    fresh: list[dict[str, object]] = []
    for row in rows:
        statement = statements.parse(notes.parse(bytes(row.leaf)).text)
        for hook in hooks:
            fresh += _deliveries(hook, row.position, statement, origin, connection, now)
    if fresh:
        connection.execute(deliveries.insert(), fresh)
    if rows:
        _move(connection, rows[-1].position + 1)
    connection.execute(
        deliveries.delete().where(deliveries.c.due.is_(None), deliveries.c.created < after(now, -_KEPT_SECONDS))
    )
    return len(fresh)


def take_due(connection: sa.Connection, now: str, most: int = 20) -> list[Delivery]:
    """Deliveries to try now, reserved for this process for a few minutes."""
    query = (
        sa.select(deliveries, webhooks.c.url, webhooks.c.secret)
        .join(webhooks, webhooks.c.id == deliveries.c.webhook)
        .where(deliveries.c.due <= now)
        .order_by(deliveries.c.due)
        .limit(most)
    )
    due = []
    for row in connection.execute(query).all():
        mine = sa.and_(deliveries.c.id == row.id, deliveries.c.due == row.due)
        values = {"due": after(now, _LEASE_SECONDS), "attempts": row.attempts + 1}
        if connection.execute(deliveries.update().where(mine).values(values)).rowcount:
            due.append(Delivery(row.id, row.url, row.secret, row.event, row.body, row.attempts + 1))
    return due


def settle(
    connection: sa.Connection,
    delivery: Delivery,
    status: int | None,
    error: str | None,
    now: str,
    *,
    is_final: bool = False,
) -> None:
    """Record an attempt's outcome: delivered, to be retried, or given up, at once if ``is_final``."""
    done = status is not None and 200 <= status < 300
    again = None if done or is_final or delivery.attempts > len(PAUSES) else after(now, PAUSES[delivery.attempts - 1])
    values = {"status": status, "error": error, "delivered": now if done else None, "due": again}
    connection.execute(deliveries.update().where(deliveries.c.id == delivery.id).values(values))


def signature(secret: str, body: bytes) -> str:
    """The value of ``X-Rye-Signature``."""
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"


def _deliveries(
    hook: Webhook, position: int, statement: Logged, origin: str, connection: sa.Connection, now: str
) -> Iterable[dict[str, object]]:
    if isinstance(statement, OfTheLog | OwnerStatement):
        return
    event = next(name for name, kind in EVENTS.items() if isinstance(statement, kind))
    namespace = statement.namespace if isinstance(statement, Keyset) else statement.identity.namespace
    if (hook.namespace and hook.namespace != namespace) or (hook.events and event not in hook.events):
        return
    identifier = secrets.token_hex(8)
    size, value = audit_events.head(connection)
    document: dict[str, object] = {
        "delivery": identifier,
        "event": event,
        "origin": origin,
        "log": position,
        "time": write_time(statement.time),
        "namespace": namespace,
        "item": None if isinstance(statement, Keyset) else str(statement.identity),
        "version": getattr(statement, "version", None),
        "audit_events": {"size": size, "hash": value},
    }
    yield {
        "id": identifier,
        "webhook": hook.id,
        "event": event,
        "body": json.dumps(document, ensure_ascii=False),
        "created": now,
        "due": now,
        "attempts": 0,
    }


def _cursor(connection: sa.Connection) -> int | None:
    """The next entry; None: there is none yet. Nobody else moves it before this transaction ends, so that two servers do not make
    deliveries of the same entries."""
    query = sa.select(registry.c.value).where(registry.c.key == _CURSOR)
    value = connection.scalar(query.with_for_update())
    if value is None:  # or a server of an earlier version put another row in its place while this one waited
        value = connection.scalar(query)
    return int(value) if value is not None else None


def _move(connection: sa.Connection, position: int) -> None:
    values = {"value": str(position)}
    if not connection.execute(registry.update().where(registry.c.key == _CURSOR).values(values)).rowcount:
        connection.execute(registry.insert().values(key=_CURSOR, **values))


def _log_size(connection: sa.Connection) -> int:
    last = connection.scalar(sa.select(sa.func.max(log_entries.c.position)))
    return 0 if last is None else last + 1


def _webhook(row: sa.Row[tuple[object, ...]]) -> Webhook:
    return Webhook(row.id, row.url, row.namespace, tuple(row.events.split()), row.secret, row.created)
