"""A layer around the whole application: each request gets an ID, a line in the log, and is counted and timed.

The ID is the caller's ``X-Request-Id`` if it is 1 to 64 letters, digits, ``.``, ``_`` or ``-``; otherwise a new one.
The answer and every log line of the request carry it, so a request can be followed through proxy and server.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
from typing import Any

from registry_server.api.files import Application, Receive, Scope, Send
from registry_server.api.forwarded import client_address
from registry_server.api.logs import request_id
from registry_server.api.metrics import Metrics, route_of
from registry_server.settings import Settings

_log = logging.getLogger("rye.requests")
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_PATH_CHARACTERS = 300
_LINK = "/-/account/link/"
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


def loggable(path: str) -> str:
    """Return a path that is safe to log, without the secret of a sign-in link."""
    return f"{_LINK}…" if path.startswith(_LINK) else path


class RequestLog:
    """The application, with IDs, logging and metrics around it."""

    def __init__(self, application: Application, metrics: Metrics, settings: Settings) -> None:
        self._application = application
        self._metrics = metrics
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count and log its answer (ASGI)."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        identifier = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        if _ID.fullmatch(identifier) is None:
            identifier = secrets.token_hex(8).encode()
        started = time.perf_counter()
        sent = {"status": 0, "bytes": 0}

        async def watch(message: Any) -> None:
            if message["type"] == "http.response.start":
                sent["status"] = message["status"]
                message = {**message, "headers": [*message["headers"], (b"x-request-id", identifier)]}
            elif message["type"] == "http.response.body":
                sent["bytes"] += len(message.get("body", b""))
            await send(message)

        token = request_id.set(identifier.decode("ascii"))
        try:
            await self._application(scope, receive, watch)
        finally:
            self._done(scope, sent["status"] or 499, sent["bytes"], time.perf_counter() - started)
            request_id.reset(token)

    def _done(self, scope: Scope, status: int, size: int, seconds: float) -> None:
        method, path = scope["method"], scope["path"]
        self._metrics.answered(method, path, status, seconds)
        path = loggable(path)
        wanted = self._settings.log_requests
        # A flood of reads is refused with 503. Those refusals must not fill the disk with log lines.
        is_plain = method in _READING and (status < 500 or status == 503)
        if wanted == "none" or (wanted == "changes" and is_plain):
            return
        _log.info(
            "%s %s %d", method, path[:_PATH_CHARACTERS], status,
            extra={"facts": {
                "method": method[:20],
                "path": path[:_PATH_CHARACTERS],
                "route": route_of(path),
                "status": status,
                "seconds": round(seconds, 6),
                "bytes": size,
                "address": client_address(scope, self._settings.trusted_proxies),
            }},
        )  # fmt: skip
