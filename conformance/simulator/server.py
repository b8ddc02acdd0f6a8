"""Serves all cases' registries on one port of 127.0.0.1, each below a prefix of its own."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from socketserver import StreamRequestHandler, ThreadingTCPServer
from types import TracebackType


@dataclass(frozen=True)
class Answer:
    """Another answer than 200 with a file. ``length``: a false ``Content-Length``, after which the connection is closed."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    length: int | None = None


Files = Mapping[str, "bytes | Answer"]


class Server:
    """A running server. ``sites`` maps a prefix to the files below it; a case replaces its own."""

    def __init__(self) -> None:
        self.sites: dict[str, Files] = {}
        self.requested: dict[str, list[str]] = {}
        """The paths that were requested, by prefix."""
        handler = type("Handler", (_Handler,), {"owner": self})
        self._http = _Listening(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()

    def answer(self, path: str) -> Answer:
        prefix, _, name = path.lstrip("/").partition("/")
        self.requested.setdefault(prefix, []).append(name)
        found = self.sites.get(prefix, {}).get(name)
        if found is None:
            return Answer(404)
        return found if isinstance(found, Answer) else Answer(200, found)


class _Listening(ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that stops reading is its own business."""


_MOST_BYTES = 64 * 1024
"""Of a line of a request."""


class _Handler(StreamRequestHandler):
    """As much of HTTP/1.1 as a client that reads needs; the library's handler takes longer for a request than most clients."""

    disable_nagle_algorithm = True
    wbufsize = -1
    owner: Server

    def handle(self) -> None:
        while self._answer_one():
            self.wfile.flush()

    def _answer_one(self) -> bool:
        """Whether the connection stays open."""
        words = self.rfile.readline(_MOST_BYTES).split()
        if len(words) != 3:
            return False
        method, path, protocol = words
        stays = protocol == b"HTTP/1.1"
        while (line := self.rfile.readline(_MOST_BYTES)).strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"connection" and value.strip().lower() == b"close":
                stays = False
        answer = self.owner.answer(path.decode("latin-1")) if method == b"GET" else Answer(501)
        length = len(answer.body) if answer.length is None else answer.length
        head = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}"]
        head += [f"{name}: {value}" for name, value in (*answer.headers, ("Content-Length", str(length)))]
        self.wfile.write("\r\n".join((*head, "\r\n")).encode("latin-1") + answer.body)
        return stays and answer.length is None
