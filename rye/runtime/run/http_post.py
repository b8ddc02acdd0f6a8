"""Sending one request to a model's endpoint over httpx."""

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
from rye.runtime.run.endpoint import Answered, Unreachable

_ENCODINGS = ("gzip", "deflate")
"""Those that make at most a thousand bytes of one, so that no chunk of an answer can fill the memory before it is counted."""


class HttpPost:
    """:class:`Post` over httpx. Redirects are not followed. Proxies of the environment are used for https:// alone: plain http
    is for this machine only, and a proxy elsewhere would read the key."""

    def __init__(self) -> None:
        self._clients: dict[bool, httpx.Client] = {}
        self._socket: socket.socket | None = None
        """Of the newest connection: one request goes at a time."""

    def __call__(self, url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> Answered:
        encrypted = urlsplit(url).scheme == "https"
        if encrypted not in self._clients:
            self._clients[encrypted] = httpx.Client(follow_redirects=False, trust_env=encrypted)
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
                    raise Unreachable(f"{url} answers in an encoding that was not asked for", sent=True)
                for chunk in response.iter_bytes():
                    found += chunk
                    if len(found) > RUN.answer_bytes:
                        raise Unreachable(f"{url} answers more than {RUN.answer_bytes} bytes", sent=True)
                    if time.monotonic() > deadline:
                        raise Unreachable(f"{url} did not finish its answer in {seconds:.0f} s", sent=True)
                return Answered(response.status_code, bytes(found), response.headers.get("retry-after"))
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise Unreachable(f"{url} cannot be reached: {error}", sent=False) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unreachable(f"{url} gave no answer: {error or type(error).__name__}", sent=True) from None

    def _connected(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._socket = info["return_value"].get_extra_info("socket")

    @contextmanager
    def _ended_after(self, seconds: float) -> Iterator[None]:
        """httpx waits so long for each piece; an endpoint that sends its headers byte by byte would never be too late."""
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
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # not TLS's own, which the reading thread uses

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
