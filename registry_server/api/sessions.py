"""Signed-in members: the session cookie, and forms that only the session's owner can send.

* The cookie is only for this host, and scripts cannot read it. Over https its name begins with ``__Secure-``, or with
  ``__Host-`` if its path is ``/`` (private reading): browsers accept such cookies only over https, and ``__Host-`` only
  from this host. Two cookies of that name count as none.
* A form is accepted if the browser says that it comes from this host (``Origin``, ``Sec-Fetch-Site``) and if it carries
  the proof of the session (:func:`registry_server.accounts.members.form_proof`).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import sqlalchemy as sa
from litestar import Request
from litestar.datastructures import Cookie, State

from registry_server.accounts import audit_events, members
from registry_server.accounts.members import AccountMember
from registry_server.accounts.rate_limits import address_key
from registry_server.accounts.times import now_text
from registry_server.api.forwarded import client_address, is_secure
from registry_server.api.private_reading import cookie_of, session_cookie_name
from registry_server.api.requests import body_of, header_of, service_of
from registry_server.api.service import Service
from registry_server.storage import database
from rye.errors import RyeError
from rye.limits import KIB

FORM_BYTES = 16 * KIB
_ATTEMPT_COOKIE = "rye_sign_in"
_ATTEMPT = re.compile(r"[A-Za-z0-9_.-]{10,400}")
_CALLBACK = "/-/account/callback"
_ATTEMPT_SECONDS = 600

AnyRequest = Request[Any, Any, State]
Form = Mapping[str, list[str]]
_T = TypeVar("_T")


# -- cookies -------------------------------------------------------------------------------------------------------------


def session_of(request: AnyRequest) -> str:
    """Return the session's secret from a request's cookie; empty: none."""
    return cookie_of(request.scope, session_cookie_name(request.scope, service_of(request).settings))


def session_cookie(request: AnyRequest, secret: str) -> Cookie:
    """Return the cookie of a session. An empty secret deletes it."""
    settings = service_of(request).settings
    path = "/-/account" if settings.read == "public" else "/"
    name = session_cookie_name(request.scope, settings)
    return _cookie(request, name, secret, path, members.SESSION_SECONDS if secret else 0)


def attempt_of(request: AnyRequest) -> str:
    """Return the state of a sign-in that this browser began; empty: none."""
    return cookie_of(request.scope, _attempt_name(request), _ATTEMPT)


def attempt_cookie(request: AnyRequest, text: str) -> Cookie:
    """Return the cookie of a sign-in that has begun. An empty text deletes it."""
    return _cookie(request, _attempt_name(request), text, _CALLBACK, _ATTEMPT_SECONDS if text else 0)


def _attempt_name(request: AnyRequest) -> str:
    secure = is_secure(request.scope, service_of(request).settings.trusted_proxies)
    return f"__Secure-{_ATTEMPT_COOKIE}" if secure else _ATTEMPT_COOKIE


def _cookie(request: AnyRequest, name: str, value: str, path: str, seconds: int) -> Cookie:
    secure = is_secure(request.scope, service_of(request).settings.trusted_proxies)
    return Cookie(name, path, value, max_age=seconds, secure=secure, httponly=True, samesite="lax")


# -- members and their forms ---------------------------------------------------------------------------------------------


async def signed_in(request: AnyRequest) -> AccountMember | None:
    """Return the member signed in to this browser's session; None if not signed in."""
    secret = session_of(request)
    if not secret:
        return None
    service = service_of(request)
    return await reading(service, lambda connection: members.session_member(connection, secret, service.now_text()))


def proof_of(request: AnyRequest) -> str:
    """Return a proof that a form of this session can carry."""
    return members.form_proof(session_of(request))


async def form_of(request: AnyRequest) -> tuple[AccountMember, Form]:
    """Return who sent a form, and its fields. Raises RyeError ``sign-in-needed``, ``form-foreign``,
    ``too-many-requests``."""
    refuse_other_sites(request)
    member = await signed_in(request)
    if member is None:
        raise _signed_out()
    service_of(request).form_rate.take(f"account {member.id}")
    form = fields_of(await body_of(request, FORM_BYTES))
    if await signed_in(request) is None:  # the body may have arrived slowly
        raise _signed_out()
    if not members.is_form_proof(session_of(request), one(form, "proof")):
        raise RyeError("form-foreign", "The form does not belong to your session.", "Open the page again.")
    return member, form


def _signed_out() -> RyeError:
    return RyeError("sign-in-needed", "You are no longer signed in.", "Sign in, then send the form again.")


def refuse_other_sites(request: AnyRequest) -> None:
    """Raise RyeError ``form-foreign`` if the browser says that another site sent the form.

    Browsers send ``Sec-Fetch-Site`` only over https and to this machine; it is right even if a proxy changes the host.
    They send ``Origin`` with every form. Programs send neither.
    """
    site, origin = header_of(request, b"sec-fetch-site"), header_of(request, b"origin")
    own = {header_of(request, b"host").lower(), _host_in(service_of(request).address)} - {""}
    is_own = site in ("same-origin", "none") if site else not origin or _host_in(origin) in own
    if not is_own:
        raise RyeError("form-foreign", "The form was sent from another site.", "Open the page on this registry.")


def _host_in(address: str) -> str:
    """Return the host and port of an address; empty: it has none, or is malformed."""
    try:
        return urlsplit(address).netloc.lower()
    except ValueError:
        return ""


def fields_of(body: bytes) -> Form:
    """Parse the fields of a form. Raises RyeError ``bad-request``."""
    try:
        fields = parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=50)
    except ValueError:
        raise RyeError("bad-request", "The form is malformed.", None) from None
    if any("\0" in value for values in fields.values() for value in values):  # PostgreSQL cannot compare it
        raise RyeError("bad-request", "The form contains a NUL character.", None)
    return fields


def one(form: Form, name: str) -> str:
    """Return the first value of a field; empty: none."""
    return form.get(name, [""])[0][:2000]


# -- what they share -----------------------------------------------------------------------------------------------------


def address_of(request: AnyRequest) -> str:
    """Return the client's address."""
    return client_address(request.scope, service_of(request).settings.trusted_proxies)


def count_try(request: AnyRequest, use: str) -> None:
    """Count one attempt of this address. Raises RyeError ``too-many-requests``.

    ``use``: ``sign-in``, ``link``, ``device`` or ``exchange``. Each has attempts of its own: builds, or programs that ask for
    codes, do not keep people behind the same address from signing in.
    """
    service_of(request).sign_in_rate.take(f"{use} {address_key(address_of(request))}")


def record(
    connection: sa.Connection, request: AnyRequest, action: str, member: AccountMember, detail: Mapping[str, object],
    subject: str = "",
) -> None:  # fmt: skip
    """Append a member's action to the audit events. ``subject`` empty: their own account."""
    actor = f"account:{member.id}"
    audit_events.record(
        connection, now_text(), action, subject or actor, actor=actor, address=address_of(request), detail=detail
    )


async def reading(service: Service, look: Callable[[sa.Connection], _T]) -> _T:
    """Read the database in a thread."""

    def run() -> _T:
        with database.reader(service.engine) as connection:
            return look(connection)

    return await asyncio.to_thread(run)


async def changing(service: Service, change: Callable[[sa.Connection], _T]) -> _T:
    """Change tables that do not belong to the log, in a thread."""
    return await asyncio.to_thread(database.changing, service.engine, change)


async def changing_as(request: AnyRequest, change: Callable[[sa.Connection], _T]) -> _T:
    """The same for the member who is signed in: what takes the session away comes before the change, and then it is refused, or
    after it. Raises RyeError ``sign-in-needed``."""
    service, secret = service_of(request), session_of(request)

    def run(connection: sa.Connection) -> _T:
        if members.hold_session(connection, secret, service.now_text()) is None:
            raise _signed_out()
        return change(connection)

    return await changing(service, run)
