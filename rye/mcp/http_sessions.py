"""A fair share of the protocol sessions of a server over HTTP.

Protocols before 2026-07-28 open a session with their first request, and a client need not end it. A server keeps
:data:`rye.limits.RUNTIME` ``.sessions`` of them. Once all are open, a new one ends another: the one that has
been idle longest, of the client that has the most. A session with a request under way (an open stream included) only gives way
to somebody who has fewer. So one token, or all clients without a token together, cannot keep the others out.

The SDK counts a session from the headers of its first request on. Until that is answered, the session counts as idle here,
and ending it ends the request.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

import anyio
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp_types import INTERNAL_ERROR
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
        self.requests = 1
        self.opening: anyio.CancelScope | None = anyio.CancelScope()
        """Around its first request; None: that was answered."""
        self.opened = anyio.Event()
        """Set once the first request is over."""

    @property
    def is_busy(self) -> bool:
        return self.requests > 0 and self.opening is None


class FairSessions:
    """Passes requests on, and ends a session where a new one needs its place (ASGI)."""

    def __init__(
        self,
        app: App,
        path: str,
        owner: Callable[[Scope], str],
        *,
        most: int,
        clock: Callable[[], float] = time.monotonic,
    ):
        """``path``: where the sessions are; ``owner``: returns whose request it is; empty: nobody's that is known."""
        self._app = app
        self._path = path
        self._owner = owner
        self._most = most
        self._clock = clock
        self._kept: dict[str, _Kept] = {}
        """By name; one whose first request is not answered yet has a name that no client can send."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        name = _header(scope, _SESSION)
        if _header(scope, _VERSION) not in (None, *HANDSHAKE_PROTOCOL_VERSIONS):
            await self._app(scope, receive, send)  # protocols from 2026-07-28 on have no sessions
        elif name is not None:
            await self._in_session(name, scope, receive, send)
        elif scope["method"] == "POST" and scope["path"].startswith(self._path):  # a route matches a line's end, too
            await self._opening(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _in_session(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        kept = self._kept.get(name)
        is_gone = False

        async def sending(message: Message) -> None:
            nonlocal is_gone
            if message["type"] == "http.response.start" and scope["path"] == self._path:  # elsewhere, 404 says nothing
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
        kept = _Kept(self._owner(scope), scope, self._clock())
        await self._take_place(kept)
        has_begun = False

        async def sending(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun, kept.opening = True, None
                self._kept.pop(_unnamed(kept), None)
                opened = _named(message["headers"], _SESSION) if message["status"] < 400 else None
                if opened is not None:
                    self._kept[opened] = kept
            await send(message)

        assert kept.opening is not None
        try:
            with kept.opening as ended:
                await self._app(scope, receive, sending)
            if ended.cancelled_caught and not has_begun:
                await _refuse(send)
        finally:
            kept.used, kept.requests = self._clock(), kept.requests - 1
            self._kept.pop(_unnamed(kept), None)
            kept.opened.set()

    async def _take_place(self, new: _Kept) -> None:
        """Count a session that opens. If all are taken, end one that gives way; otherwise the SDK refuses the new one."""
        old = self._clock() - RUNTIME.session_seconds
        for name in [name for name, kept in self._kept.items() if not kept.requests and kept.used < old]:
            del self._kept[name]  # the SDK ended it
        ends = None
        if len(self._kept) >= self._most:
            sessions = (OpenSession(name, kept.owner, kept.used, kept.is_busy) for name, kept in self._kept.items())
            ends = gives_way(sessions, new.owner)
        self._kept[_unnamed(new)] = new  # before anything is waited for, so that nobody else takes the place
        try:
            if ends is not None:
                await self._end(ends.name)
        except BaseException:
            self._kept.pop(_unnamed(new), None)
            raise

    async def _end(self, name: str) -> None:
        """End a session as its own client would."""
        kept = self._kept.pop(name)
        if kept.opening is not None:
            kept.opening.cancel()
            await kept.opened.wait()
            return
        headers = [pair for pair in kept.scope["headers"] if pair[0] == b"host"]
        scope = {**kept.scope, "method": "DELETE", "headers": [*headers, (_SESSION, name.encode())]}

        async def nothing() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def unheard(message: Message) -> None:
            return None

        await self._app(scope, nothing, unheard)


def _unnamed(kept: _Kept) -> str:
    """The name of a session whose first request is not answered yet."""
    return f"\n{id(kept)}"


async def _refuse(send: Send) -> None:
    error = {"code": INTERNAL_ERROR, "message": "Too many open sessions"}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _header(scope: Scope, name: bytes) -> str | None:
    return _named(scope["headers"], name)


def _named(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str | None:
    return next((value.decode("latin-1") for key, value in headers if key.lower() == name), None)
