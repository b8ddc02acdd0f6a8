"""One request to one witness: bounded in time and size, no redirects, no proxy. What it answers is only bytes here."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from msgspec import Struct

from rye.errors import RyeError
from rye.registry.protocol.add_checkpoint import PATH
from rye.registry.protocol.notes import MAX_NOTE_BYTES
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
        # One deadline for the whole request: with only a timeout per read, a slow witness would hold up the others. It cuts the
        # socket itself, which the connection forgets as soon as an answer without a length has begun.
        limit = threading.Timer(seconds, _cut, [connection.sock])
        limit.daemon = True
        limit.start()
        try:
            headers = {"Content-Type": "text/plain; charset=utf-8", "User-Agent": "rye-registry", "Connection": "close"}
            connection.request("POST", f"{parts.path}/{PATH}", body, headers)
            answer = connection.getresponse()
            read = answer.read(MAX_NOTE_BYTES + 1)
            if time.monotonic() >= until:
                raise OSError(f"its answer took longer than {seconds:g} seconds")
            if len(read) > MAX_NOTE_BYTES:
                raise OSError(f"it answered with more than {MAX_NOTE_BYTES:,} bytes")
            return WitnessAnswer(answer.status, read)
        finally:
            limit.cancel()
            connection.close()
    except (OSError, HTTPException, ValueError, UnicodeError, AttributeError) as error:
        reason = str(error)[:200] or type(error).__name__
        raise RyeError("witness-silent", f"{host}: {reason}.", "The registry asks again later.") from error


def _connection(scheme: str, host: str, port: int | None, seconds: float) -> HTTPConnection:
    if scheme == "https":
        return HTTPSConnection(host, port, timeout=seconds, context=trusted_authorities())
    return HTTPConnection(host, port, timeout=seconds)


def _cut(connected: socket.socket) -> None:
    with contextlib.suppress(OSError):  # already closed
        connected.shutdown(socket.SHUT_RDWR)
