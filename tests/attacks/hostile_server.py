"""A web server on the loopback that serves a registry's files honestly until it is told otherwise.

``files`` maps paths to bytes. ``faults`` maps a path to a :data:`Fault`, which takes over the connection and may drip,
lie about lengths, redirect or never stop. Every request is recorded with its headers, so that a test can check what the
client revealed. Nothing outlives the test: an endless fault stops when the client hangs up or the server closes.
"""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler

from tests.scenes.prompt_server import PromptServer

Fault = Callable[["Connection"], None]
"""Answers one request its own way."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""


class _Server(PromptServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, owner: HostileServer):
        self.owner = owner
        super().__init__(("127.0.0.1", 0), Connection)

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients hang up on hostile servers; that is not worth reporting."""


@dataclass
class HostileServer:
    """One server on a free port; a context manager."""

    files: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, Fault] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._http = _Server(self)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def __enter__(self) -> HostileServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def serve(self, files: Mapping[str, bytes]) -> None:
        """Serve these files honestly from now on, and forget earlier requests."""
        self.files = dict(files)
        self.faults = {}
        self.seen = []

    def headers(self, name: str) -> list[str]:
        """The values of this header, from all requests that had it."""
        return [request.headers[name] for request in self.seen if name in request.headers]


class Connection(BaseHTTPRequestHandler):
    """One request. Faults use ``begin`` and ``push``."""

    protocol_version = "HTTP/1.1"
    wbufsize = 0
    server: _Server

    @property
    def closing(self) -> threading.Event:
        return self.server.owner.closing

    def do_GET(self) -> None:
        owner = self.server.owner
        path = self.path.split("?", 1)[0].lstrip("/")
        owner.seen.append(Seen(self.command, path, {name.lower(): value for name, value in self.headers.items()}))
        self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            fault = owner.faults.get(path)
            if fault is not None:
                fault(self)
            elif path in owner.files:
                answer(self, 200, owner.files[path])
            else:
                answer(self, 404, b"")
        except OSError:
            self.close_connection = True

    do_POST = do_GET

    def begin(self, status: int = 200, **headers: str) -> None:
        """The status and headers (``_`` stands for ``-``); the connection ends with this answer."""
        self.close_connection = True
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Connection", "close")
        self.end_headers()

    def push(self, data: bytes) -> bool:
        """Send a piece; False if the client has hung up."""
        if self.closing.is_set():
            return False
        self.wfile.write(data)
        return True


def answer(connection: Connection, status: int, body: bytes, **headers: str) -> None:
    """Send a plain, correct answer."""
    connection.send_response_only(status)
    for name, value in {**headers, "Content_Length": str(len(body))}.items():
        connection.send_header(name.replace("_", "-"), value)
    connection.end_headers()
    connection.wfile.write(body)


def announces(size: int) -> Fault:
    """Announce a size larger than any such file, and send that much."""

    def fault(connection: Connection) -> None:
        connection.begin(Content_Length=str(size))
        piece = b" " * 65_536
        for _ in range(size // len(piece)):
            if not connection.push(piece):
                return

    return fault


def endless(connection: Connection) -> None:
    """Send chunks without end, as fast as the client reads them; no length is stated."""
    connection.begin(Transfer_Encoding="chunked")
    while connection.push(b"4000\r\n" + b" " * 0x4000 + b"\r\n"):
        pass


def drips(data: bytes, *, piece: int = 1, seconds: float = 0.05) -> Fault:
    """Send the right bytes, a few at a time."""

    def fault(connection: Connection) -> None:
        connection.begin(Content_Length=str(len(data)))
        for at in range(0, len(data), piece):
            if not connection.push(data[at : at + piece]):
                return
            time.sleep(seconds)

    return fault


def drips_headers(connection: Connection) -> None:
    """Send one header line after another, and never a body."""
    connection.close_connection = True
    connection.push(b"HTTP/1.1 200 OK\r\n")
    for number in range(10_000):
        if not connection.push(b"X-%d: y\r\n" % number):
            return
        time.sleep(0.2)


def unchanged(connection: Connection) -> None:
    """Answer that nothing changed, whatever the request."""
    connection.begin(304, ETag='"1"')


def silent(connection: Connection) -> None:
    """Accept the request and never answer."""
    connection.close_connection = True
    connection.closing.wait(20)


def breaks_off(data: bytes) -> Fault:
    """State the whole length and hang up half-way."""

    def fault(connection: Connection) -> None:
        connection.begin(Content_Length=str(len(data)))
        connection.push(data[: len(data) // 2])

    return fault


def not_http(connection: Connection) -> None:
    """Send bytes that are not HTTP."""
    connection.close_connection = True
    connection.push(b"\x16\x03\x01 this is not HTTP\r\n\r\n")


def redirects(location: str, status: int = 302) -> Fault:
    """Redirect the client elsewhere."""

    def fault(connection: Connection) -> None:
        answer(connection, status, b"", Location=location)

    return fault


@cache
def bomb() -> bytes:
    """50 MB in 50 kB. Made only where an attack needs it: compressing them takes a quarter of a second."""
    return gzip.compress(bytes(50_000_000))


def encoded(body: bytes, encoding: str) -> Fault:
    """Send a compressed answer that the client did not ask for."""

    def fault(connection: Connection) -> None:
        answer(connection, 200, body, Content_Encoding=encoding)

    return fault


def status(code: int, **headers: str) -> Fault:
    """Send this status and an empty answer."""

    def fault(connection: Connection) -> None:
        answer(connection, code, b"", **headers)

    return fault
