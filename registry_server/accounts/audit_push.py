"""Sending audit events elsewhere as they happen (``audit_push``): to a syslog server or to an https address.

Every event is sent at least once, in the order of the chain: a process that dies between sending and noting it sends them
again, so receivers keep an event once by its position. One process at a time sends. A receiver has events when it says so: by an
answer of 2xx, or for syslog by closing the connection after the end of ours.

syslog is RFC 5424 over TCP with counted frames (RFC 6587 3.4.1; over TLS: RFC 5425), facility 13, the event as JSON. UDP loses
messages without a word, so it is not offered.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import socket
import ssl
from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

import sqlalchemy as sa
from msgspec import Struct

from registry_server.accounts import audit_events
from registry_server.accounts.audit_events import AuditEvent
from registry_server.accounts.times import after
from registry_server.storage.schema import registry
from rye.errors import RyeError, UsageError
from rye.registry.transport import guarded
from rye.registry.transport.http_connection import trusted_authorities
from rye.text.addresses import without_credentials

SENT = 100
"""Events in one request or connection."""
_ANSWER_BYTES = 64 * 1024
_LEASE_SECONDS = 120
_KEY = "audit-push"
_PORTS = {"syslog": 601, "syslog+tls": 6514}
_INFORMATION, _WARNING = 13 * 8 + 6, 13 * 8 + 4
_EVERYWHERE = (ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0"))
"""The operator chose the address, so it may be inside."""


class Outgoing(Struct, frozen=True):
    """Events that this process is to send, and how it notes that they were."""

    events: tuple[AuditEvent, ...]
    held: str
    """The row's value while this process sends."""
    size: int
    """Length of the whole chain."""


def check_address(address: str) -> SplitResult:
    """Check the setting. Raises UsageError ``bad-setting``."""
    try:
        parts = urlsplit(address)
        bad = not parts.hostname or parts.username is not None or parts.port == 0 or not address.isprintable()
        bad = bad or (parts.scheme in _PORTS and bool(parts.path.strip("/") or parts.query))
    except ValueError:
        bad = True
    if bad or parts.scheme not in (*_PORTS, "https"):
        raise UsageError(
            "bad-setting",
            f"audit_push is {without_credentials(address)[:200]!r}.",
            "Give syslog://HOST:PORT, syslog+tls://HOST:PORT or https://HOST/PATH.",
        )
    return parts


def is_due(connection: sa.Connection) -> bool:
    """Whether there may be events to send. It writes nothing, so it can be asked often."""
    value = connection.scalar(sa.select(registry.c.value).where(registry.c.key == _KEY))
    return audit_events.head(connection)[0] > int((value or "0").partition(" ")[0])


def take(connection: sa.Connection, now: str) -> Outgoing | None:
    """The next events to send, reserved for this process for two minutes; None if there are none, or another process sends."""
    value = connection.scalar(sa.select(registry.c.value).where(registry.c.key == _KEY))
    if value is None:
        connection.execute(registry.insert().values(key=_KEY, value="0"))
        value = "0"
    position, _, until = value.partition(" ")
    if until > now:
        return None
    size = audit_events.head(connection)[0]
    events = tuple(audit_events.listing(connection, int(position), SENT))
    held = f"{position} {after(now, _LEASE_SECONDS)}"
    return Outgoing(events, held, size) if events and _replace(connection, value, held) else None


def settle(connection: sa.Connection, outgoing: Outgoing, is_sent: bool) -> None:
    """Note that the events were sent, or give them up to the next round."""
    position = outgoing.events[-1].position + 1 if is_sent else outgoing.events[0].position
    _replace(connection, outgoing.held, str(position))


def send(address: str, authorization: str, origin: str, events: Sequence[AuditEvent]) -> None:
    """Send events. Raises RyeError ``delivery-failed``."""
    parts = check_address(address)
    try:
        if parts.scheme == "https":
            _post(address, authorization, origin, events)
        else:
            _syslog(parts, origin, events)
    except guarded.NO_ANSWER as error:
        raise _failed(parts, str(error)[:200] or type(error).__name__) from error


def syslog_message(origin: str, event: AuditEvent) -> bytes:
    """One event as a message of RFC 5424."""
    priority = _WARNING if event.action == "sign-in.refused" else _INFORMATION
    host = "".join(letter for letter in origin[:255] if "!" <= letter <= "~") or "-"
    text = json.dumps({"origin": origin, **event.as_json()}, sort_keys=True)
    return f"<{priority}>1 {event.time} {host} rye-registry - {event.action[:32]} - {text}".encode("ascii")


def _post(address: str, authorization: str, origin: str, events: Sequence[AuditEvent]) -> None:
    body = json.dumps({"origin": origin, "events": [event.as_json() for event in events]}).encode()
    headers = {
        "Content-Type": "application/json",
        **({"Authorization": authorization} if authorization else {}),
    }
    try:
        status = guarded.request("POST", address, body, headers, most_bytes=_ANSWER_BYTES, inside=_EVERYWHERE).status
    except (guarded.TooLarge, guarded.TooSlow) as error:
        status = error.status  # nobody reads the rest
    if not 200 <= status < 300:
        raise OSError(f"it answered {status}")


def _syslog(parts: SplitResult, origin: str, events: Sequence[AuditEvent]) -> None:
    host = str(parts.hostname)
    frames = b"".join(
        b"%d %s" % (len(message), message) for message in (syslog_message(origin, event) for event in events)
    )
    with socket.create_connection((host, parts.port or _PORTS[parts.scheme]), guarded.SECONDS) as plain:
        if parts.scheme == "syslog+tls":
            with trusted_authorities().wrap_socket(plain, server_hostname=host) as secure:
                secure.sendall(frames)
                with contextlib.suppress(ssl.SSLEOFError):  # closed without a last word, as many programs do
                    secure.unwrap()  # waits for the other end, which has read everything by then
            return
        plain.sendall(frames)
        plain.shutdown(socket.SHUT_WR)
        while plain.recv(1024):
            pass


def _replace(connection: sa.Connection, old: str, new: str) -> bool:
    mine = sa.and_(registry.c.key == _KEY, registry.c.value == old)
    return connection.execute(registry.update().where(mine).values(value=new)).rowcount == 1


def _failed(parts: SplitResult, reason: str) -> RyeError:
    return RyeError("delivery-failed", f"{parts.hostname}: {reason}.", "The registry retries it later.")
