"""A witness over HTTP: ``POST /add-checkpoint`` and ``GET /<sha256 of origin>/checkpoint``, and nothing else.

Limits (:data:`rye.limits.WITNESS`): the size of a request and of its head, how long it may take and a connection be silent or
last, the connections, the requests that run at the same time, and those of one address in a minute. A request that is cut off
changes nothing; one that was signed is durable before its answer is sent.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import ipaddress
import logging
import socket
import threading
import time
from collections.abc import Callable, Sequence
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rye.errors import RyeError
from rye.limits import WITNESS, WitnessLimits
from rye.registry.protocol import add_checkpoint
from rye.registry.protocol.add_checkpoint import MAX_REQUEST_BYTES, SIZE_TYPE, AddCheckpointError
from rye.registry.protocol.cosignatures import Cosigner
from rye.text.addresses import is_loopback
from rye.witness.connections import Connections, network_of
from rye.witness.deciding import Declined, Log, cosigned, decide, origin_of
from rye.witness.folder import WitnessFolder

_log = logging.getLogger("rye.witness")
_TEXT = "text/plain; charset=utf-8"

Answer = tuple[int, str, bytes]
"""Status, content type and body."""


class WitnessService:
    """What a witness answers, whatever carries it."""

    def __init__(
        self, folder: WitnessFolder, cosigners: Sequence[Cosigner], clock: Callable[[], float] = time.time
    ) -> None:
        self._folder = folder
        self._cosigners = tuple(cosigners)
        self._clock = clock

    def add_checkpoint(self, body: bytes) -> Answer:
        """Answer a request."""
        try:
            request = add_checkpoint.read_request(body)
        except AddCheckpointError as error:
            return _refused(Declined(400, error.message))
        origin = origin_of(request)
        if isinstance(origin, Declined):
            return _refused(origin)

        def change(log: Log) -> tuple[str, bytes] | Declined:
            decided = decide(request, log)
            if isinstance(decided, Declined):
                if decided.evidence:
                    _log.error("%s forked: %s", origin, decided.body)
                    self._folder.keep_evidence(log, request.checkpoint, decided.body)
                return decided
            kept, lines = cosigned(decided, self._cosigners, int(self._clock()))
            return kept.encode(), lines

        done = self._folder.update(origin, change)
        if done is None:
            return _refused(Declined(404, "This witness does not know the log."))
        return _refused(done) if isinstance(done, Declined) else (200, _TEXT, done)

    def checkpoint(self, origin_hash: str) -> Answer:
        """Answer with what was signed last of the log whose origin has this SHA-256."""
        for kept in self._folder.logs():
            if hashlib.sha256(kept.origin.encode()).hexdigest() == origin_hash:
                log = self._folder.read(kept.origin)
                if log is not None and log.note is not None:
                    return 200, _TEXT, log.note.encode()
        return _refused(Declined(404, "Nothing was cosigned of such a log."))


class WitnessServer(ThreadingHTTPServer):
    """Serves a witness on one address."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], witness: WitnessService, limits: WitnessLimits = WITNESS) -> None:
        super().__init__(address, _Handler)
        self.witness = witness
        self.limits = limits
        self.places = threading.BoundedSemaphore(limits.at_once)
        self._counts: dict[str, int] = {}
        self._minute = 0
        self._lock = threading.Lock()
        self._connections: Connections[socket.socket] = Connections(limits)

    def may_ask(self, address: str) -> bool:
        """Count a request of an address; False if it has sent too many in this minute."""
        network = network_of(address)
        with self._lock:
            minute = int(time.monotonic() // 60)
            if minute != self._minute or len(self._counts) > self.limits.counted_addresses:
                self._minute, self._counts = minute, {}
            self._counts[network] = self._counts.get(network, 0) + 1
            return self._counts[network] <= self.limits.per_minute

    def process_request(self, request: Any, client_address: Any) -> None:
        """Take a connection, and end another one if there are too many."""
        with self._lock:
            ending = self._connections.open(request, client_address[0], time.monotonic())
        if ending is not None:
            _cut(ending)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection, and close it."""
        with self._lock:
            self._connections.close(request)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Cut connections whose request takes too long: one byte at a time is never silent, and would hold a thread for days."""
        with self._lock:
            overdue = self._connections.overdue(time.monotonic())
        for connection in overdue:
            _cut(connection)

    def begins(self, connection: socket.socket) -> bool:
        """Whether a connection may send one more request; its time begins now."""
        with self._lock:
            return self._connections.begin(connection, time.monotonic())

    def is_answering(self, connection: socket.socket) -> None:
        """Note that the request of a connection is complete."""
        with self._lock:
            self._connections.answer(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log what ended a connection in one line: that it was cut, or its client has gone, is nobody's mistake."""
        _log.info("%s: the connection ended", client_address[0], exc_info=_log.isEnabledFor(logging.DEBUG))


def _cut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # already closed
        connection.shutdown(socket.SHUT_RDWR)


def asking_address(peer: str, forwarded: Sequence[str]) -> str:
    """The address that a request counts for. A web server on this machine names its client last in ``X-Forwarded-For``: without
    that, one client could use up what all of them may ask together."""
    if not is_loopback(peer) or not forwarded:
        return peer
    named = forwarded[-1].rpartition(",")[2].strip()
    try:
        return str(ipaddress.ip_address(named))
    except ValueError:
        return peer


class _Head(io.BufferedIOBase):
    """The header lines of a request, as far as they may go."""

    def __init__(self, stream: io.BufferedIOBase, most: int) -> None:
        self._stream = stream
        self._left = most

    def readline(self, size: int | None = -1, /) -> bytes:
        """Return the next line. Raises HTTPException, which becomes 431, for one too many."""
        line = self._stream.readline(self._left + 1)
        self._left -= len(line)
        if self._left < 0:
            raise HTTPException("the head of the request is too large")
        return line


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or the body of an answer waits 40 ms for word that its head arrived
    server_version, sys_version = "rye-witness", ""
    server: WitnessServer

    def setup(self) -> None:
        """Bound how long the connection may be silent."""
        super().setup()
        self.connection.settimeout(self.server.limits.silent_seconds)

    def handle_one_request(self) -> None:
        """Answer one request, unless the connection has lasted long enough."""
        if self.server.begins(self.connection):
            super().handle_one_request()
        else:
            self.close_connection = True

    def parse_request(self) -> bool:
        """Read the head of a request, of which a client may not send as much as it likes."""
        stream = self.rfile
        self.rfile = _Head(stream, self.server.limits.head_bytes)
        try:
            return super().parse_request()
        finally:
            self.rfile = stream

    def do_POST(self) -> None:
        if self.path != f"/{add_checkpoint.PATH}":
            self._refuse(404, "There is no such call.")
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or len(length) > 9 or "Transfer-Encoding" in self.headers:
            self._refuse(411, "The request needs a Content-Length.")
        elif int(length) > MAX_REQUEST_BYTES:
            self._refuse(413, f"The request has more than {MAX_REQUEST_BYTES} bytes.")
        else:
            body = self.rfile.read(int(length))
            if len(body) == int(length):
                self._answer(lambda: self.server.witness.add_checkpoint(body))
            else:
                self.close_connection = True

    def do_GET(self) -> None:
        parts = self.path.split("/")
        if len(parts) != 3 or parts[0] or parts[2] != "checkpoint":
            self._refuse(404, "There is no such file.")
            return
        self._answer(lambda: self.server.witness.checkpoint(parts[1]))

    def _answer(self, call: Callable[[], Answer]) -> None:
        self.server.is_answering(self.connection)
        if not self.server.may_ask(
            asking_address(self.client_address[0], self.headers.get_all("X-Forwarded-For") or [])
        ):
            self._refuse(429, "Too many requests in this minute.")
            return
        if not self.server.places.acquire(blocking=False):
            self._refuse(503, "Too many requests at the same time.")
            return
        try:
            answer = call()
        except RyeError as error:
            _log.error("%s", error)
            answer = _refused(Declined(500, "The witness cannot answer for this log; its operator has to act."))
        except Exception:  # whatever a request causes, the witness keeps answering the others, and signs nothing
            _log.exception("a request failed")
            answer = _refused(Declined(500, "The witness failed."))
        finally:
            self.server.places.release()
        self._send(*answer)

    def _refuse(self, status: int, reason: str) -> None:
        self.close_connection = True  # its body was not read
        self._send(*_refused(Declined(status, reason)))

    def _send(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log to the program's log, without line ends that a request could bring along."""
        _log.info("%s %s", self.client_address[0], (format % args).encode("unicode_escape").decode()[:500])


def _refused(refusal: Declined) -> Answer:
    return refusal.status, SIZE_TYPE if refusal.size_type else _TEXT, f"{refusal.body}\n".encode()
