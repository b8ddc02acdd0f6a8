"""The MCP server over HTTP: ``/mcp`` on a loopback address, or on another address if a token is required.

Rights come only from the bearer token. An invalid or expired token gets 401. Without a token, a request may search and load,
unless tokens are required. The SDK's protection against DNS rebinding is on: other Hosts and Origins are refused.
"""

from __future__ import annotations

import ipaddress
import json
import socket
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import anyio
import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings

from rye.errors import RyeError, UsageError
from rye.limits import RUNTIME
from rye.mcp.hosting import RunsByToken, refused
from rye.mcp.http_sessions import App, FairSessions, Receive, Scope, Send
from rye.mcp.server import GRANT
from rye.mcp.tokens import Grant, TokenRefused, read_token
from rye.project.layout import Project

PATH = "/mcp"
_EXPIRY_SECONDS = 30


def parse_address(text: str) -> tuple[str, int]:
    """Parse ``HOST:PORT`` or ``[::1]:PORT``; port 0 picks a free one. Raises UsageError ``bad-argument``."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    is_number = port.isascii() and port.isdigit() and len(port) <= len("65535")
    if not colon or not host or not is_number or int(port) > 65535:
        raise UsageError("bad-argument", f"{text!r} is not HOST:PORT.", "For example: 127.0.0.1:8765.", what="address")
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_safe(host: str, *, demands_token: bool) -> None:
    """Raise UsageError ``token-demanded`` for an address that other machines can reach if no token is required, and
    ``bad-argument`` for one that means all interfaces: Host could not be checked then."""
    if not is_loopback(host) and not demands_token:
        message = f"Other machines can reach {host}, but no token is required."
        raise UsageError("token-demanded", message, "Use 127.0.0.1, or require tokens with --as ID.")
    if _means_every_interface(host):
        message = f"{host} means all interfaces, so the Host of requests could not be checked."
        raise UsageError("bad-argument", message, "Use the address that clients connect to.", what="address")


def _means_every_interface(host: str) -> bool:
    """Whether a socket that is bound to it listens on every address of this machine, however the address is written."""
    try:
        return socket.inet_aton(host) == bytes(4)  # "0" and "0x0" are 0.0.0.0 to the system
    except OSError:
        pass
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "*"
    return address.is_unspecified or (address.version == 6 and address.ipv4_mapped == ipaddress.IPv4Address(0))


class BearerGate:
    """Checks the token of each request, and passes its grant on to the server."""

    def __init__(
        self,
        app: App,
        runs: RunsByToken,
        project: Project,
        key: Callable[[], bytes],
        now: Callable[[], datetime],
        *,
        only: str | None,
        demanded: bool,
    ):
        """``key``: reads the key of tokens, for each request: who replaces it invalidates them, also for a server that runs.
        ``only``: the directive whose tokens are accepted, ``ID`` or ``ID@VERSION``; None: any. ``demanded``: requests without
        a token are refused."""
        self._app = app
        self._runs = runs
        self._project = project
        self._key = key
        self._now = now
        self._only = only
        self._demanded = demanded

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the token of a request before anything else reads it (ASGI)."""
        if scope["type"] == "http":
            try:
                grant = await self._grant(scope)
                scope = {**scope, GRANT: grant, "user": _user_of(grant)}
            except TokenRefused as error:
                await _unauthorized(send, error)
                return
        elif scope["type"] != "lifespan":
            return
        await self._app(scope, receive, send)

    async def _grant(self, scope: Scope) -> Grant | None:
        given = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
        if not given:
            if self._demanded:
                raise TokenRefused(
                    "token-refused", "This server requires a token.", "Create one with `rye mcp token --as ID`."
                )
            return None
        scheme, _, token = given[0].decode("latin-1").partition(" ")
        if len(given) > 1 or scheme.lower() != "bearer":
            raise TokenRefused(
                "token-refused", "The Authorization header is not a bearer token.", "Send Authorization: Bearer TOKEN."
            )
        try:
            key = self._key()
        except RyeError as error:
            raise refused(error, "This server cannot check tokens now") from error
        grant = read_token(key, self._project, token.strip(), self._now())
        if self._only not in (None, grant.directive, f"{grant.directive}@{grant.version}"):
            raise TokenRefused("token-refused", f"This server only accepts tokens for {self._only}.")
        try:
            await anyio.to_thread.run_sync(self._runs.admit, grant)
        except RyeError as error:
            raise refused(error, f"directive:{grant.directive} cannot be used on this server now") from error
        return grant


def _user_of(grant: Grant | None) -> AuthenticatedUser | None:
    """Who a request is from, to the SDK: it serves a session only to who opened it, so nobody else can answer its questions."""
    if grant is None:
        return None
    return AuthenticatedUser(AccessToken(token=grant.id, client_id=grant.id, scopes=[]))


async def _unauthorized(send: Send, error: TokenRefused) -> None:
    body = json.dumps(error.as_json()).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"www-authenticate", b'Bearer error="invalid_token"'),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def application(server: Server[Any], host: str, port: int, *, sessions: int = RUNTIME.sessions) -> App:
    """Return the SDK's application, which only accepts this server's own names as Host and Origin, and shares its sessions:
    that many at once."""
    names = ["127.0.0.1", "localhost", "[::1]"] if is_loopback(host) else [f"[{host}]" if ":" in host else host]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[f"{name}:{port}" for name in names] + ([] if port != 80 else names),
        allowed_origins=[f"http://{name}:{port}" for name in names],
    )
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=security,
        max_request_body_size=RUNTIME.request_bytes,
        session_idle_timeout=RUNTIME.session_seconds,
        max_sessions=sessions,
        host=host,
    )
    return FairSessions(app, PATH, _owner, most=sessions)


def _owner(scope: Scope) -> str:
    """Whose request it is: that of a token, or (empty) of all clients without one."""
    grant: Grant | None = scope.get(GRANT)
    return grant.id if grant is not None else ""


def listening(host: str, port: int) -> socket.socket:
    """Open a listening socket on the address. Raises RyeError ``address-in-use``."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(128)
    except OSError as error:
        found.close()
        message = f"Cannot listen on {host}:{port}: {error.strerror or error}."
        raise RyeError("address-in-use", message, "Choose another port; 0 picks a free one.") from error
    return found


async def serve(app: App, runs: RunsByToken, where: socket.socket, tell: Callable[[], None]) -> None:
    """Serve until a signal arrives. ``tell`` is called once requests are accepted."""
    config = uvicorn.Config(app, log_level="critical", access_log=False, lifespan="on", timeout_graceful_shutdown=3)
    server = uvicorn.Server(config)
    async with anyio.create_task_group() as group:
        group.start_soon(_expire, runs)
        group.start_soon(_announce, server, tell)
        await server.serve(sockets=[where])
        group.cancel_scope.cancel()


async def _announce(server: uvicorn.Server, tell: Callable[[], None]) -> None:
    while not server.started:
        await anyio.sleep(0.02)
    tell()


async def _expire(runs: RunsByToken) -> None:
    """Regularly end the runs whose tokens have expired."""
    while True:
        await anyio.sleep(_EXPIRY_SECONDS)
        await anyio.to_thread.run_sync(runs.expire, time.time())
