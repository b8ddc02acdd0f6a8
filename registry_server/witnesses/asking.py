"""One request to one witness: bounded in time and size, no redirects, no proxy. What it answers is only bytes here."""

from __future__ import annotations

import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPSConnection
from urllib.parse import urlsplit

from msgspec import Struct

from rye.errors import RyeError
from rye.registry.protocol.add_checkpoint import PATH
from rye.registry.protocol.notes import MAX_NOTE_BYTES
from rye.registry.transport.guarded import NO_ANSWER, TooLarge, exchange
from rye.registry.transport.http_connection import trusted_authorities


class WitnessAnswer(Struct, frozen=True):
    """A witness's answer."""

    status: int
    body: bytes


Ask = Callable[[str, bytes, float], WitnessAnswer]


def ask(url: str, body: bytes, seconds: float) -> WitnessAnswer:
    """POST to ``add-checkpoint`` below ``url``. The operator chose the address, so it may be in their own network.

    Raises RyeError ``witness-silent``.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    until = time.monotonic() + seconds
    try:
        connection = _connection(parts.scheme, host, parts.port, seconds)
        connection.connect()
        headers = {"Content-Type": "text/plain; charset=utf-8", "User-Agent": "rye-registry"}
        left = max(until - time.monotonic(), 0.0)
        target = f"{parts.path}/{PATH}"
        answer = exchange(connection, "POST", target, body, headers, most_bytes=MAX_NOTE_BYTES, seconds=left)
        return WitnessAnswer(answer.status, answer.body)
    except (TooLarge, *NO_ANSWER) as error:
        reason = str(error)[:200] or type(error).__name__
        raise RyeError("witness-silent", f"{host}: {reason}.", "The registry asks again later.") from error


def _connection(scheme: str, host: str, port: int | None, seconds: float) -> HTTPConnection:
    if scheme == "https":
        return HTTPSConnection(host, port, timeout=seconds, context=trusted_authorities())
    return HTTPConnection(host, port, timeout=seconds)
