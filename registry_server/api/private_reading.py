"""Who may read a registry that is not public (the setting ``read``).

``members``     any valid token with the scope ``read``, or anyone who is signed in, reads everything
``namespaces``  the same, but the bytes of items only if token and account may read their namespace; log, name map and index
                are shared by all members, so all of them see names, descriptions and hashes

``/config.json``, ``/livez``, ``/readyz``, ``security.txt``, the style sheet and the sign-in pages are open; the API checks
tokens itself.
Everything else is closed, including paths added later. A refused blob looks like one that does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from registry_server.accounts.tokens import Account
from registry_server.api.forwarded import is_secure
from registry_server.api.reading import ReadAnswer
from registry_server.pages.operator import SECURITY_PATH
from registry_server.pages.page_layout import SAFE_HEADERS
from registry_server.settings import Settings
from registry_server.storage.served import served
from rye.errors import RyeError
from rye.registry.protocol import wire

_SESSION_COOKIE = "rye_session"
ACCOUNT_KEY = "rye_account"
"""The key of a request's scope that holds the reader."""
_OPEN = frozenset({"/config.json", "/livez", "/readyz", SECURITY_PATH})
_OPEN_BELOW = ("/-/account", "/-/style/", "/api/")
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")


def is_open(path: str) -> bool:
    """Whether a path is answered without checking the reader. Handlers below ``/api/`` check it themselves."""
    return path in _OPEN or any(path == base or path.startswith(f"{base.rstrip('/')}/") for base in _OPEN_BELOW)


def bearer_of(scope: Any) -> str:
    """Return the token of a request; empty: none."""
    scheme, _, token = _header(scope, b"authorization").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and len(token) < 200 else ""


def session_cookie_name(scope: Any, settings: Settings) -> str:
    """Return the name of the session cookie. Over https it has a prefix that browsers let only this host set."""
    if not is_secure(scope, settings.trusted_proxies):
        return _SESSION_COOKIE
    return f"{'__Secure' if settings.read == 'public' else '__Host'}-{_SESSION_COOKIE}"


def cookie_of(scope: Any, name: str, form: re.Pattern[str] = _SECRET) -> str:
    """Return the value of a cookie; empty: none of this form, or several, one of which another site may have set."""
    sent = [value.decode("latin-1") for key, value in scope["headers"] if key == b"cookie"]
    parts = [part.strip().partition("=") for text in sent for part in text.split(";")]
    values = [value for key, _, value in parts if key == name]
    return values[0] if len(values) == 1 and form.fullmatch(values[0]) else ""


def require_reader(account: Account | None) -> Account:
    """Return the account if it may read. Raises RyeError ``unauthorized``, ``insufficient-scope``."""
    if account is None:
        raise RyeError(
            "unauthorized",
            "This registry is for its members: the token is missing, unknown, expired or revoked.",
            "Log in: `rye login ADDRESS`. The operator creates tokens: `rye-registry token create NAME --scope read`",
        )
    if not account.has("read"):
        raise RyeError(
            "insufficient-scope",
            f"The token {account.name} has the scopes {', '.join(account.scopes)}; reading needs read.",
            "Ask the operator for a token with this scope: rye-registry token create NAME --scope read",
        )
    return account


def blob_of(path: str) -> str | None:
    """Return the SHA-256 of the blob at a path; None if it is not a blob's path."""
    file = served(path)
    return file.path.rpartition("/")[2] if file is not None and file.path.startswith("blobs/") else None


def hidden_blob(path: str) -> RyeError:
    """Return the error for a blob that does not exist or that the reader may not have."""
    return RyeError(
        "not-found", f"There is nothing at {path[:200]}.", "docs/reference/protocol.md lists what a registry serves."
    )


def is_limited(settings: Settings) -> bool:
    """Whether reading depends on the namespace."""
    return settings.read == "namespaces"


def kept_private(answer: ReadAnswer) -> ReadAnswer:
    """Return the answer with headers that keep it out of shared caches and from other sites."""
    return ReadAnswer(answer.status, _private_headers(answer.headers), answer.body)


def private_send(send: Callable[[Any], Awaitable[None]]) -> Callable[[Any], Awaitable[None]]:
    """Return a ``send`` that does the same with every answer."""

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": _private_headers(message["headers"])}
        await send(message)

    return sending


_REPLACED = (b"cache-control", b"vary", b"cross-origin-resource-policy")
_READERS = [b"Authorization", b"Cookie"]


def _private_headers(headers: Iterable[tuple[bytes, bytes]]) -> tuple[tuple[bytes, bytes], ...]:
    given = [(name.lower(), value) for name, value in headers]
    caching = [word for word in _words(given, b"cache-control") if word not in (b"public", b"private")]
    varying = _words(given, b"vary")
    return (
        *((name, value) for name, value in given if not name.startswith(b"access-control-") and name not in _REPLACED),
        (b"cache-control", b", ".join([b"private", *caching])),
        (b"vary", b", ".join([*(word for word in _READERS if word not in varying), *varying])),
        (b"cross-origin-resource-policy", b"same-origin"),
    )


def _words(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [word.strip() for key, value in headers if key == name for word in value.split(b",")]


def refusal(
    error: RyeError, status: int, written: bytes | None = None, media_type: str = "text/html; charset=utf-8"
) -> ReadAnswer:
    """Return an error as JSON, or as the document in ``written``."""
    body = written or wire.encode_json(wire.ErrorAnswer(wire.ErrorBody(error.code, error.message, error.hint)))
    headers = [
        (b"content-type", b"application/json" if written is None else media_type.encode()),
        (b"cache-control", b"private, no-store"),
        (b"content-length", str(len(body)).encode()),
        (b"vary", b"Accept, Authorization, Cookie"),
        *((name.encode(), value.encode()) for name, value in SAFE_HEADERS),
    ]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status == 503:
        headers.append((b"retry-after", b"1"))
    return ReadAnswer(status, tuple(headers), body)


def _header(scope: Any, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")
