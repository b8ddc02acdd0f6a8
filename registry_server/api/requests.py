"""What handlers share: the client's account, the request's body and numbers, and JSON answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar, cast

from litestar import Request, Response
from litestar.datastructures import State

from registry_server.accounts.token_lookup import Unanswered
from registry_server.accounts.tokens import Account
from registry_server.api.private_reading import bearer_of, cookie_of, session_cookie_name
from registry_server.api.service import Service
from registry_server.pages.page_layout import SAFE_HEADERS as PAGE_HEADERS
from rye.errors import RyeError
from rye.text.json_reading import JsonError, read_json, read_typed_json

SAFE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "cross-origin",
}
_JSON = "application/json"
_AT_ONCE_SECONDS = 0.1
"""A body that took longer to arrive makes its sender be looked up again."""
_T = TypeVar("_T")


SERVICE_KEY = "rye.service"
"""The key of a request's scope that holds the service."""


def service_of(request: Request[Any, Any, State]) -> Service:
    """Return the service that a request belongs to."""
    service: Service = cast("dict[str, Any]", request.scope)[SERVICE_KEY]
    return service


async def account_of(request: Request[Any, Any, State]) -> Account:
    """Return the account of the request's token and record its use. Raises RyeError ``unauthorized``, ``clock-jumped``."""
    service = service_of(request)
    token = bearer_of(request.scope)
    account = await _known(service, token) if token else None
    if account is None:
        raise unauthorized()
    await service.note_use(account)
    return account


def unauthorized() -> RyeError:
    """Return the error for a token that is not valid, without saying why."""
    return RyeError(
        "unauthorized",
        "The token is missing, unknown, expired or revoked.",
        "Log in: `rye login ADDRESS`. The operator creates tokens: `rye-registry token create NAME`.",
    )


async def _known(service: Service, token: str) -> Account | None:
    try:
        account = service.token_lookup.check(token, service.now_text())
    except Unanswered:
        account = await asyncio.to_thread(service.account, token)
    if account is None:
        service.sequencer.clock.refuse()  # by a clock that another contradicts, nobody's token has expired
        service.metrics.bearer_refused()
    return account


async def body_of(request: Request[Any, Any, State], most: int) -> bytes:
    """Read the request's body, at most ``most`` bytes, within ``request_seconds``. Raises RyeError."""
    seconds = service_of(request).settings.request_seconds
    return await read_body(request.receive, header_of(request, b"content-length"), most, seconds)


async def body_and_account(request: Request[Any, Any, State], account: Account, most: int) -> tuple[bytes, Account]:
    """Read the body like :func:`body_of`. Return it and the account as it is then: while a body arrives slowly, the token may be
    revoked, and roles may be taken. Raises RyeError ``unauthorized`` as well."""
    began = time.monotonic()
    body = await body_of(request, most)
    if time.monotonic() - began > _AT_ONCE_SECONDS:
        account = await account_of(request)
    return body, account


async def read_body(receive: Callable[[], Awaitable[Any]], declared: str, most: int, seconds: float) -> bytes:
    """Read a body of at most ``most`` bytes, within ``seconds``. ``declared``: its ``Content-Length``. Raises
    RyeError."""
    too_large = RyeError(
        "request-too-large", f"The request has more than {most:,} bytes.", "Split it into smaller requests."
    )
    if declared.isdecimal() and (len(declared) > 15 or int(declared) > most):
        raise too_large
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            more = True
            while more:
                message: Mapping[str, Any] = await receive()
                if message["type"] != "http.request":
                    raise RyeError("client-gone", "The client disconnected before the request was complete.", None)
                part = message.get("body", b"")
                size += len(part)
                if size > most:
                    raise too_large
                parts.append(part)
                more = message.get("more_body", False)
    except TimeoutError:
        raise RyeError(
            "request-timeout", "The request took too long to arrive.", "Try again on a faster connection."
        ) from None
    return b"".join(parts)


async def to_the_end(work: Awaitable[_T]) -> _T:
    """Return the result of work in a thread or another process. If this request is cancelled meanwhile, that takes effect once
    the work is over: nothing can stop it, and what is held for it must not be given back before.
    """
    doing = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(doing)
    finally:
        while not doing.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait({doing})
        if not doing.cancelled():
            doing.exception()  # seen: a cancelled request has nobody to tell


async def refuse_nul(request: Request[Any, Any, State]) -> None:
    """Refuse a path or query with a NUL character, which PostgreSQL can neither keep nor compare: a request must not look like a
    database that fails. Raises RyeError ``bad-request``; ``not-found`` for a path outside the API."""
    path = request.scope["path"]
    if "\0" in path and not path.startswith("/api/"):
        raise RyeError("not-found", f"There is nothing at {path[:200]}.", None)
    if "\0" in path or b"%00" in request.scope["query_string"]:
        raise RyeError("bad-request", "The address contains a NUL character.", None)


def decode_request(body: bytes, kind: type[_T]) -> _T:
    """Decode a request; no unknown, missing or duplicate field, no NUL character. Raises RyeError ``bad-request``, whatever
    the bytes are."""
    try:
        document = read_typed_json(body, kind)
        if b"\\u0000" in body and _has_nul(read_json(body)):
            raise JsonError("a text contains a NUL character")  # PostgreSQL cannot keep it or compare with it
    except JsonError as error:
        raise RyeError(
            "bad-request",
            f"The request does not have the expected format: {str(error)[:200]}.",
            "GET /openapi.json describes every call.",
        ) from error
    return document


def _has_nul(value: object) -> bool:
    """Whether a text of a parsed document contains the character. Deep ones were refused by the reader."""
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(map(_has_nul, value)) or any(map(_has_nul, value.values()))
    return isinstance(value, list) and any(map(_has_nul, value))


def header_of(request: Request[Any, Any, State], name: bytes) -> str:
    """Return the first value of a header; empty: not sent."""
    return next((value.decode("latin-1") for key, value in request.scope["headers"] if key == name), "")


def number_of(request: Request[Any, Any, State], name: str, default: int, least: int, most: int) -> int:
    """Return a number of the query. Raises RyeError ``bad-request`` if it is out of range."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and least <= int(text) <= most):
        raise RyeError("bad-request", f"`{name}` must be a number from {least} to {most}.", None)
    return int(text)


def json_answer(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response[bytes]:
    """Return a JSON response that is not cached."""
    return Response(
        body,
        status_code=status,
        media_type=_JSON,
        headers={"Cache-Control": "no-store", **SAFE_HEADERS, **(headers or {})},
    )


def page_answer(body: bytes, status: int, headers: dict[str, str]) -> Response[bytes]:
    """Return an error page that is not cached."""
    return Response(
        body,
        status_code=status,
        media_type="text/html",
        headers={"Cache-Control": "no-store", **dict(PAGE_HEADERS), **headers},
    )


async def reader_of(service: Service, scope: Any) -> Account | None:
    """Return the account of the token or the signed-in member; None if neither."""
    token = bearer_of(scope)
    if token:
        account = await _known(service, token)
        if account is not None:
            await service.note_use(account)
        return account
    secret = cookie_of(scope, session_cookie_name(scope, service.settings))
    return await asyncio.to_thread(service.session_account, secret) if secret else None
