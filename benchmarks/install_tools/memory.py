"""An in-memory registry on loopback, as fast as a page of Python can be, so that its cost does not count against a peer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import cast

Files = Mapping[str, tuple[str, bytes]]
"""Path → content type and bytes."""


class _Connection(asyncio.Protocol):
    """Answers GET requests, one at a time, with prepared bytes."""

    def __init__(self, answers: Mapping[bytes, bytes]) -> None:
        self.answers = answers
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.received += data
        while b"\r\n\r\n" in self.received:
            head, _, self.received = self.received.partition(b"\r\n\r\n")
            path = head.split(b" ", 2)[1]
            self.transport.write(self.answers.get(path) or _answer("404 Not Found", "text/plain", b"not found"))


def _answer(status: str, kind: str, data: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\nCache-Control: max-age=600\r\n\r\n"
    return head.encode() + data


@contextmanager
def serve(make: Callable[[str], Files]) -> Iterator[str]:
    """Serve the files that ``make`` returns for the registry's address, until the block ends."""
    answers: dict[bytes, bytes] = {}
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(loop.create_server(lambda: _Connection(answers), "127.0.0.1", 0, backlog=512))
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    answers.update({path.encode(): _answer("200 OK", kind, data) for path, (kind, data) in make(url).items()})
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield url
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        server.close()
