"""The benchmark's interface to a registry under load."""

from __future__ import annotations

import base64
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

LOAD = Path(__file__).with_name("load.py")
QUIET_SECONDS, BUSY_SECONDS, MOST_SECONDS = 1.0, 0.02, 30.0
"""How long a peer must be quiet, what processor time in that span is quiet, and the longest wait."""
#: A publish as whole HTTP messages, to be sent one after the other.
Publish = list[bytes]


class Peer(Protocol):
    """A running registry."""

    name: str
    url: str

    def publish(self, label: str, number: int) -> Publish:
        """The requests that publish a new item; ``label`` and ``number`` make its name."""

    def cpu_seconds(self) -> float:
        """The processor time used by its processes."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of some publishers."""

    rate: float
    """Publishes per second."""
    p50: float
    p99: float
    """Seconds from the first byte sent to the last answer."""
    cpu: float
    """The server's processor seconds for each publish."""


def message(url: str, method: str, path: str, body: bytes, token: str) -> bytes:
    """A whole HTTP/1.1 request with a JSON or binary body."""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def measure(peer: Peer, label: str, publishers: int, each: int) -> Measured:
    """Let ``publishers`` publish ``each`` new items, one at a time."""
    address = urlsplit(peer.url)
    plan = {
        "host": address.hostname,
        "port": address.port,
        "publishers": [
            [
                [base64.b64encode(request).decode() for request in peer.publish(label, publisher * each + number)]
                for number in range(each)
            ]
            for publisher in range(publishers)
        ],
    }
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(plan, file)
        file.flush()
        before = peer.cpu_seconds()
        done = subprocess.run([sys.executable, str(LOAD), file.name], capture_output=True, text=True, check=False)
        used = peer.cpu_seconds() - before
    if done.returncode:
        raise SystemExit(f"{peer.name} refused the load: {done.stderr[-2000:]}")
    result = json.loads(done.stdout)
    taken = sorted(result["latencies"])
    count = publishers * each
    return Measured(
        count / result["seconds"],
        statistics.median(taken),
        taken[min(len(taken) - 1, int(len(taken) * 0.99))],
        used / count,
    )


def let_finish(peer: Peer) -> None:
    """Wait until what the peer does behind its answers is done, so that it does not disturb the next one's turn."""
    until, used, at = time.monotonic() + MOST_SECONDS, peer.cpu_seconds(), time.monotonic()
    while time.monotonic() < min(at + QUIET_SECONDS, until):
        time.sleep(QUIET_SECONDS / 10)
        if (now := peer.cpu_seconds()) - used > BUSY_SECONDS:
            used, at = now, time.monotonic()


def cpu_of(process: int) -> float:
    """Processor seconds of a process and of its living children, from /proc."""
    total = 0.0
    for entry in [process, *_children(process)]:
        try:
            fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += (int(fields[11]) + int(fields[12])) / 100
    return total


def _children(process: int) -> list[int]:
    try:
        listed = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    return [int(child) for child in listed]
