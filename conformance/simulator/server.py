"""Serves all cases' registries on one port of 127.0.0.1, each below a prefix of its own."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
        self._http = _Quiet(("127.0.0.1", 0), handler)
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


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that stops reading is its own business."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    owner: Server

    def do_GET(self) -> None:
        answer = self.owner.answer(self.path)
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body) if answer.length is None else answer.length))
        self.end_headers()
        self.wfile.write(answer.body)
        self.wfile.flush()
        if answer.length is not None:
            self.close_connection = True

    def log_message(self, format: str, *arguments: object) -> None:
        pass
