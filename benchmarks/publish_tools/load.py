"""The publishers: prebuilt requests over keep-alive connections, in a process of its own so that it costs no peer its CPU.

    python load.py PLAN        PLAN: a JSON file {"host", "port", "publishers": [[[request, …], …], …]}

A publisher sends its publishes one after the other; a publish is one or more requests, each the base64 of a whole HTTP/1.1
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


async def _answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    lowered = head.lower()
    if b"transfer-encoding: chunked" in lowered:
        body = await reader.readuntil(b"0\r\n\r\n")
    else:
        _, _, after = lowered.partition(b"content-length:")
        body = await reader.readexactly(int(after.partition(b"\r\n")[0] or 0))
    if not head.startswith(b"HTTP/1.1 2"):
        raise SystemExit(f"{head[:200]!r} {body[:500]!r}")
    return body


async def _publisher(host: str, port: int, publishes: list[list[bytes]], taken: list[float]) -> None:
    reader, writer = await asyncio.open_connection(host, port, limit=2**20)
    for requests in publishes:
        started = time.perf_counter()
        for request in requests:
            writer.write(request)
            await _answer(reader)
        taken.append(time.perf_counter() - started)
    writer.close()


async def _run(host: str, port: int, publishers: list[list[list[bytes]]]) -> dict[str, object]:
    taken: list[float] = []
    started = time.perf_counter()
    async with asyncio.timeout(WAIT_SECONDS):
        await asyncio.gather(*(_publisher(host, port, publishes, taken) for publishes in publishers))
    return {"seconds": time.perf_counter() - started, "latencies": taken}


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text())
    publishers = [
        [[base64.b64decode(request) for request in publish] for publish in publishes]
        for publishes in plan["publishers"]
    ]
    print(json.dumps(asyncio.run(_run(plan["host"], plan["port"], publishers))))


if __name__ == "__main__":
    main()
