"""Pages below ``/-/account``: signing in, one's own tokens, and confirming programs. And the device flow's two addresses.

* A link of the operator is used up by a form, so that nothing which only looks at links uses it.
* Every form of someone who is signed in carries a proof of the session (:func:`registry_server.accounts.members.form_proof`).
* The cookie is for this host alone, not for scripts, and ``Secure`` where the request came over https.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from jinja2 import Environment, FileSystemLoader
from litestar import HttpMethod, Response, get, route
from litestar.datastructures import Cookie
from litestar.params import FromPath

from registry_server.accounts import device_logins, members, roles, tokens
from registry_server.accounts.members import Member
from registry_server.accounts.scopes import SCOPES, parse_scopes
from registry_server.accounts.times import now_text, read_span
from registry_server.accounts.tokens import Account
from registry_server.api.requests import service_of
from registry_server.api.service import Service
from registry_server.api.sessions import (
    AnyRequest,
    attempt_cookie,
    attempt_of,
    changing,
    count_try,
    form_of,
    one,
    proof_of,
    reading,
    record,
    refuse_other_sites,
    session_cookie,
    session_of,
    signed_in,
)
from registry_server.api.sign_in import Attempt, Returned, name_in
from rye.errors import RyeError

_HEADERS = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, trim_blocks=True, lstrip_blocks=True
)


# -- signing in ----------------------------------------------------------------------------------------------------------


@get("/-/account")
async def _home(request: AnyRequest) -> Response[bytes]:
    service, member = service_of(request), await signed_in(request)
    if member is None:
        return _page(service, "account_sign_in.html", **_sign_in_words(service))
    return await _home_of(request, member)


@route("/-/account/link/{secret:str}", http_method=[HttpMethod.GET, HttpMethod.POST])
async def _link(request: AnyRequest, secret: FromPath[str]) -> Response[bytes]:
    service = service_of(request)
    count_try(request)
    if request.method == "GET":
        member = await reading(service, lambda connection: members.link_account(connection, secret, now_text()))
        if member is None:
            raise RyeError(
                "link-used", "This link was used or has expired.", "Ask the registry's operator for another one."
            )
        return _page(service, "account_link.html", name=member.name)
    refuse_other_sites(request)

    def use(connection: sa.Connection) -> str:
        now = now_text()
        member = members.use_link(connection, secret, now)
        record(connection, request, "account.sign-in", member, {"by": "link"})
        members.close_session(connection, session_of(request))
        return members.open_session(connection, member.id, now)

    session = await changing(service, use)
    return _redirect("/-/account", [session_cookie(request, session)])


@get("/-/account/login")
async def _login(request: AnyRequest) -> Response[bytes]:
    service = service_of(request)
    code = device_logins.normal(request.query_params.get("code", ""))
    count_try(request)
    url, attempt = await service.issuer_calls.run(service.sign_in.begin, service.address, code)
    return _redirect(url, [attempt_cookie(request, attempt.encode())])


@get("/-/account/callback")
async def _callback(request: AnyRequest) -> Response[bytes]:
    service = service_of(request)
    count_try(request)
    attempt = Attempt.decode(attempt_of(request))
    came = Returned(*(request.query_params.get(name, "")[:2000] for name in ("state", "code", "error", "iss")))
    claims = await service.issuer_calls.run(service.sign_in.finish, service.address, attempt, came)

    def enter(connection: sa.Connection) -> str:
        now = now_text()
        member = members.of_issuer(connection, str(claims["iss"]), str(claims["sub"]), name_in(claims), now)
        record(connection, request, "account.sign-in", member, {"by": claims["iss"]})
        members.close_session(connection, session_of(request))
        return members.open_session(connection, member.id, now)

    session = await changing(service, enter)
    target = f"/-/account/device?code={quote(attempt.code)}" if attempt is not None and attempt.code else "/-/account"
    return _redirect(target, [session_cookie(request, session), attempt_cookie(request, "")])


@route("/-/account/logout", http_method=[HttpMethod.POST])
async def _logout(request: AnyRequest) -> Response[bytes]:
    await form_of(request)
    secret = session_of(request)
    await changing(service_of(request), lambda connection: members.close_session(connection, secret))
    return _redirect("/-/account", [session_cookie(request, "")])


# -- one's own tokens ----------------------------------------------------------------------------------------------------


@route("/-/account/tokens", http_method=[HttpMethod.POST])
async def _make_token(request: AnyRequest) -> Response[bytes]:
    member, form = await form_of(request)
    name, expires = one(form, "name"), one(form, "expires") or tokens.LIFETIME
    scopes, namespaces = parse_scopes(form.get("scope", [])), one(form, "namespaces").replace(",", " ").split()

    def make(connection: sa.Connection) -> str:
        now = now_text()
        tokens.check_room(connection, member.id, service_of(request).settings.account_tokens, now)
        made = tokens.create(
            connection, name, namespaces, now, scopes=scopes, seconds=read_span(expires), account=member.id
        )
        detail = {"name": name, "scopes": list(scopes), "namespaces": namespaces, "token": tokens.token_id(made)}
        record(connection, request, "token.create", member, detail)
        return made

    return await _home_of(request, member, await changing(service_of(request), make))


@route("/-/account/tokens/{token:str}/revoke", http_method=[HttpMethod.POST])
async def _revoke_token(request: AnyRequest, token: FromPath[str]) -> Response[bytes]:
    member, _ = await form_of(request)

    def revoke(connection: sa.Connection) -> None:
        now = now_text()
        tokens.revoke(connection, token[:100], now, member.id)
        record(connection, request, "token.revoke", member, {"token": token[:16]})

    await changing(service_of(request), revoke)
    return _redirect("/-/account")


# -- programs ------------------------------------------------------------------------------------------------------------


@route("/-/account/device", http_method=[HttpMethod.GET, HttpMethod.POST])
async def _device(request: AnyRequest) -> Response[bytes]:
    service = service_of(request)
    if request.method == "POST":
        member, form = await form_of(request)
        code, approve = device_logins.normal(one(form, "code")), one(form, "decision") == "approve"

        def decide(connection: sa.Connection) -> bool:
            done = device_logins.decide(connection, code, member.id, approve, now_text())
            if done:
                record(connection, request, "device.approve" if approve else "device.deny", member, {"code": code})
            return done

        done = await changing(service, decide)
        words = ("The program has its token. You can close this page." if approve else "Refused.") if done else ""
        return _page(service, "account_device.html", decided=words, code=code, waiting=None)
    code = device_logins.normal(request.query_params.get("code", ""))
    found = await signed_in(request)
    if found is None:
        return _page(service, "account_sign_in.html", **_sign_in_words(service), code=code)
    service.form_pace.take(f"account {found.id}")
    waiting = await reading(service, lambda connection: device_logins.waiting(connection, code, now_text()))
    proof = proof_of(request)
    return _page(
        service, "account_device.html", waiting=waiting, code=code, proof=proof, lifetime="90 days", decided=""
    )


# -- what they share -----------------------------------------------------------------------------------------------------


async def _home_of(request: AnyRequest, member: Member, made: str = "") -> Response[bytes]:
    service = service_of(request)

    def look(connection: sa.Connection) -> tuple[Any, Any]:
        return roles.of_account(connection, member.id), tokens.listing(connection, member.id)

    held, own = await reading(service, look)
    account = Account("", member.name, (), scopes=("publish",), account=member.id, roles=held)
    waiting = await asyncio.to_thread(service.staging.listing, account, everything=False)
    words = {"roles": held, "tokens": own[::-1], "scopes": SCOPES, "lifetime": tokens.LIFETIME, "stages": waiting}
    proof = proof_of(request)
    return _page(service, "account_home.html", member=member, made=made, proof=proof, **words)


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


ACCOUNT_ROUTES = (
    *(_home, _link, _login, _callback, _logout, _make_token, _revoke_token),
    _device,
)
