"""Publishers that go on whatever happens, and an observer of every head that anyone could have seen."""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from publish_tools.registry import Registry

from registry_server.sequencer.head_publication import shown_checkpoint

ANSWER_SECONDS = 20.0
_PAUSE_SECONDS = 0.05


class Crowd:
    """Publishers, each with one request at a time. What was acknowledged is in :attr:`acknowledged`."""

    def __init__(self, registry: Registry, label: str, publishers: int) -> None:
        self._registry = registry
        self._label = label
        self._publishers = publishers
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._numbers = iter(range(10**7))
        self.acknowledged: dict[bytes, int] = {}
        """Signed note of the release → its position in the log."""
        self.refused: Counter[str] = Counter()
        """Error codes; ``no answer`` where the connection broke."""
        self.roots: dict[int, set[bytes]] = {}
        """Size of the log → every root that was shown for it."""

    @contextmanager
    def working(self) -> Iterator[None]:
        """A block during which they publish and the observer looks."""
        threads = [threading.Thread(target=self._publish, daemon=True) for _ in range(self._publishers)]
        threads.append(threading.Thread(target=self._observe, daemon=True))
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join(ANSWER_SECONDS * 2)

    def wait_for(self, more: int, seconds: float) -> bool:
        """Wait until so many more publishes have been acknowledged; False if that takes longer."""
        wanted, until = len(self.acknowledged) + more, time.monotonic() + seconds
        while len(self.acknowledged) < wanted and time.monotonic() < until:
            time.sleep(0.05)
        return len(self.acknowledged) >= wanted

    def _publish(self) -> None:
        connection: socket.socket | None = None
        while not self._stop.is_set():
            with self._lock:
                number = next(self._numbers)
            (request,) = self._registry.publish(self._label, number)
            note = json.loads(request.partition(b"\r\n\r\n")[2])["notes"][0].encode()
            try:
                if connection is None:
                    address = urlsplit(self._registry.url)
                    connection = socket.create_connection((address.hostname, address.port), ANSWER_SECONDS)
                connection.sendall(request)
                status, body = _answer(connection)
            except (OSError, ValueError):
                connection = None
                self._count("no answer")
                time.sleep(_PAUSE_SECONDS)
                continue
            if status == 200:
                with self._lock:
                    self.acknowledged[note] = body["results"][0]["log"]
            else:
                self._count(body["error"]["code"])
                time.sleep(_PAUSE_SECONDS)

    def _observe(self) -> None:
        while not self._stop.wait(0.02):
            for path in ("head", "checkpoint"):
                try:
                    with urllib.request.urlopen(f"{self._registry.url}/{path}", timeout=2) as answer:
                        shown = shown_checkpoint(path, answer.read())
                except OSError:
                    continue
                if shown is not None:
                    self.roots.setdefault(shown.size, set()).add(shown.root_hash)

    def _count(self, code: str) -> None:
        with self._lock:
            self.refused[code] += 1


def _answer(connection: socket.socket) -> tuple[int, dict[str, Any]]:
    data = b""
    while b"\r\n\r\n" not in data:
        data += _more(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += _more(connection)
    return int(head.split(b" ", 2)[1]), json.loads(body)


def _more(connection: socket.socket) -> bytes:
    piece = connection.recv(65536)
    if not piece:
        raise ConnectionError("the server hung up")
    return piece
