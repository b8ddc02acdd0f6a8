"""The load: prebuilt requests over keep-alive connections, in a separate process so that its CPU time is not a peer's.

    python load.py PLAN        PLAN: a JSON file {"host", "port", "publishers": [[[request, …], …], …]}

``"busy": true`` in the plan: an answer of 503 counts like any other.

A publisher sends its publishes one at a time; a publish is one or more requests, each the base64 of a whole HTTP/1.1
message. Prints {"seconds", "latencies"}: one latency for each publish. Any answer but 2xx ends the run.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
import time
from pathlib import Path

WAIT_SECONDS = 120


class Publisher(asyncio.Protocol):
    """One connection, with as little work for each answer as possible."""

    def __init__(self, publishes: list[list[bytes]], taken: list[float], accepted: tuple[bytes, ...]) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._taken = taken
        self._accepted = accepted
        self._requests = [(request, request is publish[-1]) for publish in publishes for request in publish]
        self._at = 0
        self._started = 0.0
        self._buffer = b""
        self._is_first = True
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._buffer[:end].lower()
        if b"transfer-encoding: chunked" in head:
            if not self._buffer.endswith(b"0\r\n\r\n"):
                return
        else:
            _, _, length = head.partition(b"content-length:")
            if len(self._buffer) < end + 4 + int(length.partition(b"\r\n")[0] or 0):
                return
        if not head.startswith(self._accepted):
            self._end(RuntimeError(self._buffer[:1000].decode("utf-8", "replace")))
            return
        self._buffer = b""
        self._is_first = self._requests[self._at][1]
        if self._is_first:
            self._taken.append(time.perf_counter() - self._started)
        self._at += 1
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc or ConnectionError("the server hung up"))

    def _send(self) -> None:
        if self._at == len(self._requests):
            self._end(None)
            return
        if self._is_first:
            self._started = time.perf_counter()
        assert self._transport is not None
        self._transport.write(self._requests[self._at][0])

    def _end(self, error: Exception | None) -> None:
        if not self.done.done():
            if error is None:
                self.done.set_result(None)
            else:
                self.done.set_exception(error)
            if self._transport is not None:
                self._transport.close()


async def _run(
    host: str, port: int, publishers: list[list[list[bytes]]], accepted: tuple[bytes, ...]
) -> dict[str, object]:
    taken: list[float] = []
    loop = asyncio.get_running_loop()

    async def publish(publishes: list[list[bytes]]) -> None:
        _, publisher = await loop.create_connection(lambda: Publisher(publishes, taken, accepted), host, port)
        await publisher.done

    started = time.perf_counter()
    async with asyncio.timeout(WAIT_SECONDS):
        await asyncio.gather(*map(publish, publishers))
    return {"seconds": time.perf_counter() - started, "latencies": taken}


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text())
    publishers = [
        [[base64.b64decode(request) for request in publish] for publish in publishes]
        for publishes in plan["publishers"]
    ]
    accepted = (b"http/1.1 2", b"http/1.1 503") if plan.get("busy") else (b"http/1.1 2",)
    print(json.dumps(asyncio.run(_run(plan["host"], plan["port"], publishers, accepted))))


if __name__ == "__main__":
    main()
