"""Pages below ``/-/account``: signing in, one's own tokens, and confirming programs. And the device flow's two addresses.

* A link of the operator is used up by a form, so that nothing which only looks at links uses it.
* Every form of someone who is signed in carries a proof of the session (:func:`registry_server.accounts.members.form_proof`).
* The cookie is for this host alone, not for scripts, and ``Secure`` where the request came over https.
"""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, quote

import sqlalchemy as sa
from jinja2 import Environment, FileSystemLoader
from litestar import HttpMethod, Request, Response, get, route
from litestar.datastructures import Cookie, State
from litestar.params import FromPath

from registry_server.accounts import audit_events, device_logins, members, roles, tokens
from registry_server.accounts.members import Member
from registry_server.accounts.scopes import SCOPES, parse_scopes
from registry_server.accounts.times import now_text, read_span
from registry_server.accounts.tokens import Account
from registry_server.api.forwarded import client_address, is_secure
from registry_server.api.private_reading import SESSION_COOKIE, session_of
from registry_server.api.requests import body_of, header_of, json_answer, service_of
from registry_server.api.service import Service
from registry_server.api.sign_in import Attempt, name_in
from registry_server.storage import database
from rye.errors import RyeError
from rye.limits import KIB
from rye.registry.protocol import wire

_FORM_BYTES = 16 * KIB
_ATTEMPT_COOKIE = "rye_sign_in"
_ATTEMPT = re.compile(rf"(?:^|;\s*){_ATTEMPT_COOKIE}=([A-Za-z0-9_.-]{{10,400}})(?:;|$)")
_HEADERS = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, trim_blocks=True, lstrip_blocks=True
)
_Request = Request[Any, Any, State]
_T = TypeVar("_T")


# -- signing in ----------------------------------------------------------------------------------------------------------


@get("/-/account")
async def _home(request: _Request) -> Response[bytes]:
    service, member = service_of(request), await _signed_in(request)
    if member is None:
        return _page(service, "account_sign_in.html", **_sign_in_words(service))
    return await _home_of(request, member)


@route("/-/account/link/{secret:str}", http_method=[HttpMethod.GET, HttpMethod.POST])
async def _link(request: _Request, secret: FromPath[str]) -> Response[bytes]:
    service = service_of(request)
    if request.method == "GET":
        member = await _reading(service, lambda connection: members.link_account(connection, secret, now_text()))
        if member is None:
            raise RyeError(
                "link-used", "This link was used or has expired.", "Ask the registry's operator for another one."
            )
        return _page(service, "account_link.html", name=member.name)
    _refuse_other_sites(request)

    def use(connection: sa.Connection) -> str:
        now = now_text()
        member = members.use_link(connection, secret, now)
        _record(connection, request, "account.sign-in", member, {"by": "link"})
        return members.open_session(connection, member.id, now)

    session = await _changing(service, use)
    return _redirect("/-/account", [_session_cookie(request, session)])


@get("/-/account/login")
async def _login(request: _Request) -> Response[bytes]:
    service = service_of(request)
    code = device_logins.normal(request.query_params.get("code", ""))
    url, attempt = await asyncio.to_thread(service.sign_in.begin, service.address, code)
    return _redirect(url, [_cookie(request, _ATTEMPT_COOKIE, attempt.encode(), "/-/account/callback", 600)])


@get("/-/account/callback")
async def _callback(request: _Request) -> Response[bytes]:
    service = service_of(request)
    kept = _ATTEMPT.search(header_of(request, b"cookie"))
    attempt = Attempt.decode(kept[1]) if kept else None
    state, code = (request.query_params.get(name, "")[:2000] for name in ("state", "code"))
    claims = await asyncio.to_thread(service.sign_in.finish, service.address, attempt, state, code)

    def enter(connection: sa.Connection) -> str:
        now = now_text()
        member = members.of_issuer(connection, str(claims["iss"]), str(claims["sub"]), name_in(claims), now)
        _record(connection, request, "account.sign-in", member, {"by": claims["iss"]})
        return members.open_session(connection, member.id, now)

    session = await _changing(service, enter)
    target = f"/-/account/device?code={quote(attempt.code)}" if attempt is not None and attempt.code else "/-/account"
    gone = _cookie(request, _ATTEMPT_COOKIE, "", "/-/account/callback", 0)
    return _redirect(target, [_session_cookie(request, session), gone])


@route("/-/account/logout", http_method=[HttpMethod.POST])
async def _logout(request: _Request) -> Response[bytes]:
    await _form(request)
    secret = session_of(request.scope)
    await _changing(service_of(request), lambda connection: members.close_session(connection, secret))
    return _redirect("/-/account", [_session_cookie(request, "")])


# -- one's own tokens ----------------------------------------------------------------------------------------------------


@route("/-/account/tokens", http_method=[HttpMethod.POST])
async def _make_token(request: _Request) -> Response[bytes]:
    member, form = await _form(request)
    name, expires = _one(form, "name"), _one(form, "expires") or tokens.LIFETIME
    scopes, namespaces = parse_scopes(form.get("scope", [])), _one(form, "namespaces").replace(",", " ").split()

    def make(connection: sa.Connection) -> str:
        now = now_text()
        made = tokens.create(
            connection, name, namespaces, now, scopes=scopes, seconds=read_span(expires), account=member.id
        )
        detail = {"name": name, "scopes": list(scopes), "namespaces": namespaces, "token": tokens.token_id(made)}
        _record(connection, request, "token.create", member, detail)
        return made

    return await _home_of(request, member, await _changing(service_of(request), make))


@route("/-/account/tokens/{token:str}/revoke", http_method=[HttpMethod.POST])
async def _revoke_token(request: _Request, token: FromPath[str]) -> Response[bytes]:
    member, _ = await _form(request)

    def revoke(connection: sa.Connection) -> None:
        now = now_text()
        tokens.revoke(connection, token[:100], now, member.id)
        _record(connection, request, "token.revoke", member, {"token": token[:16]})

    await _changing(service_of(request), revoke)
    return _redirect("/-/account")


# -- programs ------------------------------------------------------------------------------------------------------------


@route("/api/v1/device/authorize", http_method=[HttpMethod.POST])
async def _begin_device(request: _Request) -> Response[bytes]:
    """RFC 8628 §3.1 and §3.2."""
    service = service_of(request)
    with service.shares.request(f"address {_address(request)}"):
        name = _one(_fields(await body_of(request, _FORM_BYTES)), "name")
        begun = await _changing(service, lambda connection: device_logins.begin(connection, name, now_text()))
    page = f"{service.address}/-/account/device"
    answer = wire.DeviceBegun(
        begun.device_code,
        begun.user_code,
        page,
        f"{page}?code={begun.user_code}",
        device_logins.EXPIRES_SECONDS,
        device_logins.INTERVAL_SECONDS,
    )
    return json_answer(wire.encode_json(answer))


@route("/api/v1/device/token", http_method=[HttpMethod.POST])
async def _poll_device(request: _Request) -> Response[bytes]:
    """RFC 8628 §3.4 and §3.5; errors in the form of RFC 6749 §5.2."""
    service = service_of(request)
    with service.shares.request(f"address {_address(request)}"):
        form = _fields(await body_of(request, _FORM_BYTES))
        if _one(form, "grant_type") != "urn:ietf:params:oauth:grant-type:device_code":
            return json_answer(wire.encode_json(wire.DeviceError("unsupported_grant_type")), 400)
        code = _one(form, "device_code")
        kind, value = await _changing(service, lambda connection: device_logins.poll(connection, code, now_text()))
    if kind == "error":
        return json_answer(wire.encode_json(wire.DeviceError(value)), 400)
    return json_answer(wire.encode_json(wire.DeviceToken(value, "Bearer", device_logins.TOKEN_SECONDS)))


@route("/-/account/device", http_method=[HttpMethod.GET, HttpMethod.POST])
async def _device(request: _Request) -> Response[bytes]:
    service = service_of(request)
    if request.method == "POST":
        member, form = await _form(request)
        code, approve = device_logins.normal(_one(form, "code")), _one(form, "decision") == "approve"

        def decide(connection: sa.Connection) -> bool:
            done = device_logins.decide(connection, code, member.id, approve, now_text())
            if done:
                _record(connection, request, "device.approve" if approve else "device.deny", member, {"code": code})
            return done

        done = await _changing(service, decide)
        words = ("The program has its token. You can close this page." if approve else "Refused.") if done else ""
        return _page(service, "account_device.html", decided=words, code=code, name=None)
    code = device_logins.normal(request.query_params.get("code", ""))
    found = await _signed_in(request)
    if found is None:
        return _page(service, "account_sign_in.html", **_sign_in_words(service), code=code)
    name = await _reading(service, lambda connection: device_logins.waiting(connection, code, now_text()))
    proof = members.form_proof(session_of(request.scope))
    return _page(service, "account_device.html", name=name, code=code, proof=proof, lifetime="90 days", decided="")


# -- what they share -----------------------------------------------------------------------------------------------------


async def _home_of(request: _Request, member: Member, made: str = "") -> Response[bytes]:
    service = service_of(request)

    def look(connection: sa.Connection) -> tuple[Any, Any]:
        return roles.of_account(connection, member.id), tokens.listing(connection, member.id)

    held, own = await _reading(service, look)
    account = Account("", member.name, (), scopes=("publish",), account=member.id, roles=held)
    waiting = await asyncio.to_thread(service.staging.listing, account, everything=False)
    words = {"roles": held, "tokens": own[::-1], "scopes": SCOPES, "lifetime": tokens.LIFETIME, "stages": waiting}
    proof = members.form_proof(session_of(request.scope))
    return _page(service, "account_home.html", member=member, made=made, proof=proof, **words)


async def _signed_in(request: _Request) -> Member | None:
    secret = session_of(request.scope)
    if not secret:
        return None
    return await _reading(
        service_of(request), lambda connection: members.session_member(connection, secret, now_text())
    )


async def _form(request: _Request) -> tuple[Member, Mapping[str, list[str]]]:
    """Who sent a form, and its fields. Raises RyeError ``sign-in-needed``, ``form-foreign``."""
    _refuse_other_sites(request)
    member = await _signed_in(request)
    if member is None:
        raise RyeError(
            "sign-in-needed", "You are not signed in, or not any longer.", "Sign in, then send the form again."
        )
    form = _fields(await body_of(request, _FORM_BYTES))
    proof = members.form_proof(session_of(request.scope))
    if not hmac.compare_digest(_one(form, "proof").encode(), proof.encode()):
        raise RyeError("form-foreign", "The form does not belong to your session.", "Open the page again.")
    return member, form


def _refuse_other_sites(request: _Request) -> None:
    if header_of(request, b"sec-fetch-site") not in ("", "same-origin", "none"):
        raise RyeError("form-foreign", "The form was sent from another site.", "Open the page here.")


def _fields(body: bytes) -> Mapping[str, list[str]]:
    try:
        return parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=50)
    except ValueError:
        raise RyeError("bad-request", "The form is malformed.", None) from None


def _one(form: Mapping[str, list[str]], name: str) -> str:
    return form.get(name, [""])[0][:2000]


def _sign_in_words(service: Service) -> dict[str, Any]:
    return {"has_oidc": service.sign_in.issuer is not None, "issuer": service.sign_in.issuer}


def _page(service: Service, template: str, status: int = 200, **words: Any) -> Response[bytes]:
    body = _PAGES.get_template(template).render(origin=service.origin, **words)
    return Response(body.encode(), status_code=status, media_type="text/html; charset=utf-8", headers=_HEADERS)


def refused_page(service: Service, error: RyeError, status: int) -> Response[bytes]:
    """An error for someone who looks at pages."""
    return _page(service, "account_refused.html", status, message=error.message, hint=error.hint)


def _redirect(target: str, cookies: list[Cookie] | None = None) -> Response[bytes]:
    return Response(
        b"",
        status_code=303,
        media_type="text/plain",
        headers={**_HEADERS, "Location": target},
        cookies=cookies,
    )


def _session_cookie(request: _Request, secret: str) -> Cookie:
    path = "/-/account" if service_of(request).settings.read == "public" else "/"
    return _cookie(request, SESSION_COOKIE, secret, path, members.SESSION_SECONDS if secret else 0)


def _cookie(request: _Request, name: str, value: str, path: str, seconds: int) -> Cookie:
    secure = is_secure(request.scope, service_of(request).settings.trusted_proxies)
    return Cookie(name, path, value, max_age=seconds, secure=secure, httponly=True, samesite="lax")


def _address(request: _Request) -> str:
    return client_address(request.scope, service_of(request).settings.trusted_proxies)


def _record(
    connection: sa.Connection, request: _Request, action: str, member: Member, detail: Mapping[str, object]
) -> None:
    actor = f"account:{member.id}"
    audit_events.record(connection, now_text(), action, actor, actor=actor, address=_address(request), detail=detail)


async def _reading(service: Service, look: Callable[[sa.Connection], _T]) -> _T:
    def run() -> _T:
        with database.reader(service.engine) as connection:
            return look(connection)

    return await asyncio.to_thread(run)


async def _changing(service: Service, change: Callable[[sa.Connection], _T]) -> _T:
    def run() -> _T:
        with database.change(service.engine) as connection:
            return change(connection)

    return await asyncio.to_thread(run)


ACCOUNT_ROUTES = (
    *(_home, _link, _login, _callback, _logout, _make_token, _revoke_token),
    *(_device, _begin_device, _poll_device),
)
