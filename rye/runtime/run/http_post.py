"""Sends requests to a model's endpoint with httpx."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import httpx

from rye.limits import RUN
from rye.registry.transport.http_connection import authorities_for
from rye.runtime.run.endpoint import Answered, Unreachable

_ENCODINGS = ("gzip", "deflate")
"""Encodings that expand at most a thousandfold, so that no chunk of an answer can fill memory before it is counted."""


class HttpPost:
    """:class:`Post` with httpx. Redirects are not followed. Proxies from the environment are only used for https://: plain
    http is for this machine only, and a remote proxy would see the key."""

    def __init__(self) -> None:
        self._clients: dict[bool, httpx.Client] = {}
        self._socket: socket.socket | None = None
        """The socket of the newest connection; there is one request at a time."""

    def __call__(self, url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> Answered:
        """Send one request over a connection that is kept. Raises Unreachable."""
        encrypted = urlsplit(url).scheme == "https"
        if encrypted not in self._clients:
            self._clients[encrypted] = httpx.Client(
                verify=authorities_for(url), follow_redirects=False, trust_env=encrypted
            )
        deadline = time.monotonic() + seconds
        timeout = httpx.Timeout(seconds, connect=min(seconds, RUN.connect_seconds))
        found = bytearray()
        try:
            traced = {"trace": self._connected}
            sent = {"accept-encoding": ", ".join(_ENCODINGS), **headers}
            stream = self._clients[encrypted].stream(
                "POST", url, headers=sent, content=body, timeout=timeout, extensions=traced
            )
            with self._ended_after(seconds), stream as response:
                encoding = response.headers.get("content-encoding", "identity").strip().lower()
                if encoding not in ("identity", *_ENCODINGS):
                    raise Unreachable(f"{url} answered with an unsupported content encoding", sent=True)
                for chunk in response.iter_bytes():
                    found += chunk
                    if len(found) > RUN.answer_bytes:
                        raise Unreachable(f"{url} answered with more than {RUN.answer_bytes} bytes", sent=True)
                    if time.monotonic() > deadline:
                        raise Unreachable(f"{url} did not finish its answer in {seconds:.0f} s", sent=True)
                return Answered(response.status_code, bytes(found), response.headers.get("retry-after"))
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise Unreachable(f"{url} cannot be reached: {error}", sent=False) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unreachable(f"{url} did not answer: {error or type(error).__name__}", sent=True) from None

    def _connected(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._socket = info["return_value"].get_extra_info("socket")

    @contextmanager
    def _ended_after(self, seconds: float) -> Iterator[None]:
        """End the connection when the time is up. httpx's timeout applies to each read, so an endpoint that sends its
        headers byte by byte would never exceed it."""
        timer = threading.Timer(seconds, self._end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _end(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # not TLS's shutdown: the reading thread uses it

    def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            client.close()
