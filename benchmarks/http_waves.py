"""Time to fetch a wave of small files with our transport (http.client) and with httpx, in turns, from one server on loopback.

Each round is a separate process, so that imports count::

    python -m benchmarks.http_waves [files]

The reason for using http.client is in docs/design/adr/0002-http-client.md.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROUNDS = 3
BODY = b"x" * 2_000
WORKERS = 16


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each body waits 40 ms for word that its head arrived

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextmanager
def serving() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def with_our_transport(address: str, files: int) -> None:
    from rye.registry.transport.factory import open_transport
    from rye.registry.transport.seam import Request

    imported = time.process_time()
    transport = open_transport(address)
    fetched = transport.fetch_many([Request(f"blobs/{number}", len(BODY)) for number in range(files)])
    assert all(found == BODY for found in fetched)
    _print("http.client", imported)


def with_httpx(address: str, files: int) -> None:
    from concurrent.futures import ThreadPoolExecutor

    import httpx

    imported = time.process_time()
    limits = httpx.Limits(max_connections=WORKERS, max_keepalive_connections=WORKERS)
    with httpx.Client(limits=limits) as client, ThreadPoolExecutor(WORKERS) as pool:
        fetched = list(pool.map(lambda number: client.get(f"{address}/blobs/{number}").content, range(files)))
    assert all(found == BODY for found in fetched)
    _print("httpx", imported)


def _print(name: str, imported: float) -> None:
    cpu = time.process_time()
    print(f"{name:<12} start and import {imported * 1000:6.0f} ms CPU, all {cpu * 1000:6.0f} ms CPU")


CLIENTS = {"ours": with_our_transport, "httpx": with_httpx}


def main() -> None:
    if len(sys.argv) == 4:
        CLIENTS[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
        return
    files = sys.argv[1] if len(sys.argv) > 1 else "1000"
    with serving() as address:
        for _ in range(ROUNDS):
            for name in CLIENTS:
                subprocess.run([sys.executable, "-m", "benchmarks.http_waves", name, address, files], check=True)


if __name__ == "__main__":
    main()
