"""A fair share of the protocol sessions of a server over HTTP.

Protocols before 2026-07-28 open a session with their first request, and a client need not end it. A server keeps
:data:`rye.limits.RUNTIME` ``.sessions`` of them. If all are open, a new one takes the place of another: of whoever has the
most, the one that is idle for the longest time. A session with a request under way (an open stream included) only gives way
to somebody who has fewer. So one token, or all clients without a token together, cannot keep the others out.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from msgspec import Struct

from rye.limits import RUNTIME

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
_SESSION = MCP_SESSION_ID_HEADER.lower().encode()
_VERSION = b"mcp-protocol-version"


class OpenSession(Struct, frozen=True):
    """One session."""

    name: str
    owner: str
    """Whose it is; empty: somebody's without a token."""
    used: float
    """When its last request began or ended, in seconds."""
    is_busy: bool
    """Whether a request of it is under way."""


def gives_way(sessions: Iterable[OpenSession], owner: str) -> OpenSession | None:
    """Return the session that ends for a new one of ``owner``, where all are taken; None: none, so the new one is refused."""
    given = tuple(sessions)
    counts = Counter(session.owner for session in given)

    def may_end(session: OpenSession) -> bool:
        more = counts[session.owner] - counts[owner]
        return more > 1 if session.is_busy else more > 0 or session.owner == owner

    def order(session: OpenSession) -> tuple[int, bool, float]:
        return -counts[session.owner], session.is_busy, session.used

    return min(filter(may_end, given), key=order, default=None)


class _Kept:
    """A session, with what ending it needs."""

    def __init__(self, owner: str, scope: Scope, now: float):
        self.owner = owner
        self.scope = scope
        self.used = now
        self.requests = 0


class FairSessions:
    """Passes requests on, and ends a session where a new one needs its place (ASGI)."""

    def __init__(
        self,
        app: App,
        owner: Callable[[Scope], str],
        *,
        most: int = RUNTIME.sessions,
        clock: Callable[[], float] = time.monotonic,
    ):
        """``owner``: returns whose request it is; empty: nobody's that is known."""
        self._app = app
        self._owner = owner
        self._most = most
        self._clock = clock
        self._kept: dict[str, _Kept] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        name = _header(scope, _SESSION)
        if name is not None:
            await self._in_session(name, scope, receive, send)
        elif _header(scope, _VERSION) in (None, *HANDSHAKE_PROTOCOL_VERSIONS):
            await self._opening(scope, receive, send)
        else:  # protocols from 2026-07-28 on have no sessions
            await self._app(scope, receive, send)

    async def _in_session(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        kept = self._kept.get(name)
        is_gone = False

        async def sending(message: Message) -> None:
            nonlocal is_gone
            if message["type"] == "http.response.start":
                is_gone = message["status"] == 404 or (scope["method"] == "DELETE" and message["status"] < 300)
            await send(message)

        if kept is None or kept.owner != self._owner(scope):  # the SDK refuses it
            await self._app(scope, receive, send)
            return
        kept.used, kept.requests = self._clock(), kept.requests + 1
        try:
            await self._app(scope, receive, sending)
        finally:
            kept.used, kept.requests = self._clock(), kept.requests - 1
            if is_gone:
                self._kept.pop(name, None)

    async def _opening(self, scope: Scope, receive: Receive, send: Send) -> None:
        owner = self._owner(scope)
        await self._make_room(owner)
        kept = _Kept(owner, scope, self._clock())

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                opened = _named(message["headers"], _SESSION)
                if opened is not None:
                    self._kept[opened] = kept
            await send(message)

        kept.requests += 1
        try:
            await self._app(scope, receive, sending)
        finally:
            kept.used, kept.requests = self._clock(), kept.requests - 1

    async def _make_room(self, owner: str) -> None:
        """End one session if all are taken and one gives way. Otherwise the SDK refuses the new one."""
        old = self._clock() - RUNTIME.session_seconds
        for name in [name for name, kept in self._kept.items() if not kept.requests and kept.used < old]:
            del self._kept[name]  # the SDK ended it
        if len(self._kept) < self._most:
            return
        ends = gives_way(
            (OpenSession(name, kept.owner, kept.used, kept.requests > 0) for name, kept in self._kept.items()), owner
        )
        if ends is not None:
            await self._end(ends.name)

    async def _end(self, name: str) -> None:
        """End a session as its own client would."""
        kept = self._kept.pop(name)
        headers = [pair for pair in kept.scope["headers"] if pair[0] == b"host"]
        scope = {**kept.scope, "method": "DELETE", "headers": [*headers, (_SESSION, name.encode())]}

        async def nothing() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def unheard(message: Message) -> None:
            return None

        await self._app(scope, nothing, unheard)


def _header(scope: Scope, name: bytes) -> str | None:
    return _named(scope["headers"], name)


def _named(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str | None:
    return next((value.decode("latin-1") for key, value in headers if key.lower() == name), None)
