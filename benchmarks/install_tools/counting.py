"""A proxy between a client and a registry that counts what is asked for."""

from __future__ import annotations

import http.client
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Counting(ThreadingHTTPServer):
    """Forwards requests to a registry. ``seen``: path, status and body size of each."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.target = ""
        self.seen: list[tuple[str, int, int]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each body waits 40 ms for word that its head arrived
    server: Counting

    def do_GET(self) -> None:
        self._forward(None)

    def do_POST(self) -> None:
        self._forward(self.rfile.read(int(self.headers.get("content-length") or 0)))

    def _forward(self, body: bytes | None) -> None:
        kept = ("if-none-match", "accept", "authorization", "content-type")
        headers = {name: value for name, value in self.headers.items() if name.lower() in kept}
        connection = http.client.HTTPConnection(urlsplit(self.server.target).netloc, timeout=120)
        connection.request(self.command, self.path, headers=headers, body=body)
        answer = connection.getresponse()
        data = answer.read()
        self.server.seen.append((self.path, answer.status, len(data)))
        self.send_response(answer.status)
        for name in ("ETag", "Content-Type"):
            if (value := answer.headers.get(name)) is not None:
                self.send_header(name, value)
        if answer.status != 304:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        connection.close()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: only times are printed."""
