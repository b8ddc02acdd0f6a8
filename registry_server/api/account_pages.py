"""Routes below ``/-/account``: signing in, one's own tokens and teams, confirming programs. What they show:
:mod:`registry_server.pages.account`.

* Only submitting a form uses up an operator's link, so a program that merely follows links cannot.
* Every form of someone who is signed in carries a proof of the session (:mod:`registry_server.api.sessions`).
* A browser is only ever sent to paths that are written here, to the issuer, and after signing in to a page of this registry
  (:mod:`registry_server.api.return_paths`).
"""

from __future__ import annotations

import asyncio

import sqlalchemy as sa
from litestar import HttpMethod, Response, route
from litestar.datastructures import Cookie
from litestar.params import FromPath

from registry_server.accounts import administration, device_logins, groups, members, roles, tokens
from registry_server.accounts.administration import By
from registry_server.accounts.members import AccountMember
from registry_server.accounts.scopes import parse_scopes
from registry_server.accounts.times import read_span
from registry_server.accounts.token_room import check_room
from registry_server.accounts.tokens import Account
from registry_server.api.requests import service_of
from registry_server.api.return_paths import return_path
from registry_server.api.service import Service
from registry_server.api.sessions import (
    AnyRequest,
    address_of,
    attempt_cookie,
    attempt_of,
    changing,
    changing_as,
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
from registry_server.api.sign_in import Attempt, IssuerReturn, name_in
from registry_server.pages import account as pages
from registry_server.pages.account import HOME, DeviceView, LinkView, Signed, SignInView, TeamRow
from registry_server.pages.confirming import revoking_page
from registry_server.pages.errors import error_page
from registry_server.pages.page_layout import Page
from rye.errors import RyeError

_READ = [HttpMethod.GET, HttpMethod.HEAD]
_SEND = [HttpMethod.POST]
_MOST_NAMESPACES = 50
"""Namespaces that one token created on the page can name."""


# -- signing in ----------------------------------------------------------------------------------------------------------


@route("/-/account", http_method=_READ)
async def _home(request: AnyRequest) -> Response[bytes]:
    service, member = service_of(request), await signed_in(request)
    if member is None:
        return sign_in_first(request)

    def look(connection: sa.Connection) -> tuple[int, int, tuple[tuple[str, str], ...]]:
        live = [token for token in tokens.listing(connection, member.id) if token.is_good(service.now_text())]
        return len(live), len(roles.teams_of(connection, member.id)), roles.of_account(connection, member.id)

    live, teams, held = await reading(service, look)
    waiting = await asyncio.to_thread(service.staging.listing, staging_account(member, held), everything=False)
    return answer(
        request, pages.home_page(signed(request, member, HOME), member, held, len(waiting), live, teams)
    )  # fmt: skip


@route("/-/account/link/{secret:str}", http_method=[*_READ, HttpMethod.POST])
async def _link(request: AnyRequest, secret: FromPath[str]) -> Response[bytes]:
    service = service_of(request)
    count_try(request, "link")
    if request.method != "POST":
        member = await reading(service, lambda connection: members.link_account(connection, secret, service.now_text()))
        if member is None:
            raise RyeError(
                "link-used", "This link was used or has expired.", "Ask the registry's operator for another one."
            )
        return answer(request, pages.link_page(LinkView(member.name)))
    refuse_other_sites(request)

    def use(connection: sa.Connection) -> str:
        now = service_of(request).now_text()
        member = members.use_link(connection, secret, now)
        record(connection, request, "account.sign-in", member, {"by": "link"})
        members.close_session(connection, session_of(request))
        return members.open_session(connection, member.id, service.since_text(members.SESSION_SECONDS))

    with service.signing_in("link", address_of(request)):
        session = await changing(service, use)
    return redirect(HOME, [session_cookie(request, session)])


@route("/-/account/login", http_method=[HttpMethod.GET])
async def _login(request: AnyRequest) -> Response[bytes]:
    service = service_of(request)
    code = device_logins.normal(request.query_params.get("code", ""))
    count_try(request, "sign-in")
    back = return_path(request.query_params.get("next", ""))
    url, attempt = await service.issuer_calls.run(service.sign_in.begin, service.address, code, back)
    return redirect(url, [attempt_cookie(request, attempt.encode())])


@route("/-/account/callback", http_method=[HttpMethod.GET])
async def _callback(request: AnyRequest) -> Response[bytes]:
    service = service_of(request)
    count_try(request, "sign-in")
    attempt = Attempt.decode(attempt_of(request))
    came = IssuerReturn(*(request.query_params.get(name, "")[:2000] for name in ("state", "code", "error", "iss")))
    claim = service.settings.oidc_groups_claim

    def enter(connection: sa.Connection) -> str:
        now = service_of(request).now_text()
        member = members.of_issuer(connection, str(claims["iss"]), str(claims["sub"]), name_in(claims), now)
        record(connection, request, "account.sign-in", member, {"by": claims["iss"]})
        if claim:
            moved = groups.move(connection, member, groups.in_claims(claims, claim), groups.written(claims, now))
            if moved:
                administration.record_moved(
                    connection, member, moved, By(now, f"account:{member.id}", address_of(request))
                )
        members.close_session(connection, session_of(request))
        return members.open_session(connection, member.id, service.since_text(members.SESSION_SECONDS))

    with service.signing_in("issuer", address_of(request)):
        claims = await service.issuer_calls.run(service.sign_in.finish, service.address, attempt, came)
        session = await changing(service, enter)
    code = device_logins.normal(attempt.code) if attempt is not None else ""
    target = f"{HOME}/device?code={code}" if code else (attempt.back if attempt is not None else "") or HOME
    return redirect(target, [session_cookie(request, session), attempt_cookie(request, "")])


@route("/-/account/logout", http_method=_SEND)
async def _logout(request: AnyRequest) -> Response[bytes]:
    await form_of(request)
    secret = session_of(request)
    await changing(service_of(request), lambda connection: members.close_session(connection, secret))
    return redirect(HOME, [session_cookie(request, "")])


# -- tokens and teams ----------------------------------------------------------------------------------------------------


@route("/-/account/tokens", http_method=_READ)
async def _tokens(request: AnyRequest) -> Response[bytes]:
    member = await signed_in(request)
    if member is None:
        return sign_in_first(request)
    return await _tokens_of(request, member)


@route("/-/account/tokens", http_method=_SEND)
async def _make_token(request: AnyRequest) -> Response[bytes]:
    member, form = await form_of(request)
    name, expires = one(form, "name"), one(form, "expires") or tokens.LIFETIME
    scopes, namespaces = parse_scopes(form.get("scope", [])), one(form, "namespaces").replace(",", " ").split()
    if len(namespaces) > _MOST_NAMESPACES:
        raise RyeError("bad-request", f"A token created here can name at most {_MOST_NAMESPACES} namespaces.", None)
    most = service_of(request).settings.account_tokens

    def make(connection: sa.Connection) -> str:
        seconds = read_span(expires)
        since = service_of(request).since_text(seconds)
        check_room(connection, member.id, most, since)
        secret = tokens.create(connection, name, namespaces, since, scopes=scopes, seconds=seconds, account=member.id)
        detail = {"name": name, "scopes": list(scopes), "namespaces": namespaces, "token": tokens.token_id(secret)}
        record(connection, request, "token.create", member, detail)
        return secret

    return await _tokens_of(request, member, await changing_as(request, make))


@route("/-/account/tokens/{token:str}/revoke", http_method=_READ)
async def _ask_to_revoke(request: AnyRequest, token: FromPath[str]) -> Response[bytes]:
    member = await signed_in(request)
    if member is None:
        return sign_in_first(request)
    service = service_of(request)
    own = await reading(service, lambda connection: tokens.listing(connection, member.id))
    active = (one for one in own if tokens.state_of(one, service.now_text()) == "active")
    found = next((one for one in active if one.token == token), None)
    if found is None:
        hint = f"Your tokens are at {HOME}/tokens"
        raise RyeError("no-such-entry", "You have no active token with this ID.", hint, what="token")
    return answer(request, revoking_page(signed(request, member, f"{HOME}/tokens"), found))


@route("/-/account/tokens/{token:str}/revoke", http_method=_SEND)
async def _revoke_token(request: AnyRequest, token: FromPath[str]) -> Response[bytes]:
    member, _ = await form_of(request)

    def revoke(connection: sa.Connection) -> None:
        now = service_of(request).now_text()
        before = tokens.is_revoked(connection, token[:100])
        tokens.revoke(connection, token[:100], now, member.id)
        if not before:
            record(connection, request, "token.revoke", member, {"token": token[:16]})

    await changing_as(request, revoke)
    return redirect(f"{HOME}/tokens")


async def _tokens_of(request: AnyRequest, member: AccountMember, secret: str = "") -> Response[bytes]:
    service = service_of(request)
    now = service.now_text()

    def look(connection: sa.Connection) -> tuple[list[Account], tuple[tuple[str, str], ...]]:
        return tokens.listing(connection, member.id), roles.of_account(connection, member.id)

    own, held = await reading(service, look)
    head = signed(request, member, f"{HOME}/tokens")
    return answer(request, pages.tokens_page(head, own, held, service.settings.account_tokens, now, secret))


@route("/-/account/teams", http_method=_READ)
async def _teams(request: AnyRequest) -> Response[bytes]:
    member = await signed_in(request)
    if member is None:
        return sign_in_first(request)

    def look(connection: sa.Connection) -> list[TeamRow]:
        listed, given = roles.team_listing(connection), roles.listing(connection)
        return [
            TeamRow(
                team, tuple(listed[team]), tuple((held.namespace, held.role) for held in given if held.team == team)
            )
            for team in roles.teams_of(connection, member.id)
        ]

    teams = await reading(service_of(request), look)
    return answer(request, pages.teams_page(signed(request, member, f"{HOME}/teams"), teams))


# -- programs ------------------------------------------------------------------------------------------------------------


@route("/-/account/device", http_method=_READ)
async def _device(request: AnyRequest) -> Response[bytes]:
    service, code = service_of(request), device_logins.normal(request.query_params.get("code", ""))
    member = await signed_in(request)
    if member is None:
        return sign_in_first(request, code)
    service.form_rate.take(f"account {member.id}")
    waiting = await reading(service, lambda connection: device_logins.waiting(connection, code, service.now_text()))
    head = signed(request, member, f"{HOME}/device")
    return answer(request, pages.device_page(DeviceView(head, code, waiting, "90 days")))


@route("/-/account/device", http_method=_SEND)
async def _decide_device(request: AnyRequest) -> Response[bytes]:
    member, form = await form_of(request)
    code, approve = device_logins.normal(one(form, "code")), one(form, "decision") == "approve"
    most = service_of(request).settings.account_tokens

    def decide(connection: sa.Connection) -> bool:
        if approve:
            check_room(connection, member.id, most, service_of(request).now_text())
        done = device_logins.decide(connection, code, member.id, approve, service_of(request).now_text())
        if done:
            record(connection, request, "device.approve" if approve else "device.deny", member, {"code": code})
        return done

    done = await changing_as(request, decide)
    decided = ("approved" if approve else "denied") if done else "gone"
    head = signed(request, member, f"{HOME}/device")
    return answer(request, pages.device_page(DeviceView(head, code, None, "90 days", decided)))


# -- shared helpers ------------------------------------------------------------------------------------------------------


def signed(request: AnyRequest, member: AccountMember, here: str) -> Signed:
    """Return what every page of a signed-in member has. ``here``: the path of the current tab."""
    return Signed(member.name, proof_of(request), here)


def staging_account(member: AccountMember, held: tuple[tuple[str, str], ...]) -> Account:
    """The signed-in member, as the stages see them."""
    return Account(token="", name=member.name, namespaces=(), scopes=("publish",), account=member.id, roles=held)


def sign_in_first(request: AnyRequest, code: str = "") -> Response[bytes]:
    """The page for a visitor who is not signed in. ``code``: the program to confirm afterwards."""
    service = service_of(request)
    back = return_path(request.query_params.get("next", ""))
    view = SignInView(service.sign_in.issuer, code, service.settings.read == "public", back)
    return answer(request, pages.sign_in_page(view))


def answer(request: AnyRequest, page: Page) -> Response[bytes]:
    """Render a page. Visitors who are not signed in learn nothing about a registry for members."""
    service = service_of(request)
    is_known = not isinstance(page.view, SignInView | LinkView)
    site = service.pages.site() if is_known else service.pages.site_for_anyone()
    return html_answer(pages.html(page, site, service.pages.hour()), request.method)


def refused_page(service: Service, error: RyeError, status: int) -> Response[bytes]:
    """Return an error as a page for people."""
    page = error_page(error, status, service.pages.site_for_anyone(), service.pages.hour())
    return html_answer(page, "GET", status, error.code in ("busy", "too-many-requests"))


def html_answer(body: bytes, method: str, status: int = 200, again: bool = False) -> Response[bytes]:
    """Return HTML with the headers of account pages. ``again``: whether to send ``Retry-After``."""
    headers = dict(pages.HEADERS)
    media_type = headers.pop("content-type")
    headers["content-length"] = str(len(body))
    if again:
        headers["retry-after"] = "30"
    return Response(b"" if method == "HEAD" else body, status_code=status, media_type=media_type, headers=headers)


def redirect(target: str, cookies: list[Cookie] | None = None) -> Response[bytes]:
    """Redirect a browser with 303, so that it sends a GET."""
    headers = {**dict(pages.HEADERS), "location": target}
    headers.pop("content-type")
    return Response(b"", status_code=303, media_type="text/plain", headers=headers, cookies=cookies)


ACCOUNT_ROUTES = (
    *(_home, _link, _login, _callback, _logout, _tokens, _make_token, _ask_to_revoke, _revoke_token, _teams),
    *(_device, _decide_device),
)
