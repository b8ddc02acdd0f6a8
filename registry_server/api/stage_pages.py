"""Routes below ``/-/account/stages``: releases that wait for a signature, for the people who may decide about them.

The content of these pages is in :mod:`registry_server.pages.stage`.

No form approves a release: that needs a key, on its owner's machine. Owners of the namespace can reject here.
"""

from __future__ import annotations

import asyncio

import sqlalchemy as sa
from litestar import HttpMethod, Response, route
from litestar.params import FromPath

from registry_server.accounts import roles
from registry_server.accounts.members import AccountMember
from registry_server.accounts.tokens import Account
from registry_server.api.account_pages import answer, redirect, sign_in_first, signed, staging_account
from registry_server.api.requests import service_of
from registry_server.api.service import Service
from registry_server.api.sessions import AnyRequest, address_of, form_of, one, reading, signed_in
from registry_server.pages.account import HOME, stages_page
from registry_server.pages.analysed import files_of
from registry_server.pages.comparison import Side
from registry_server.pages.confirming import rejecting_page
from registry_server.pages.page_context import Reader
from registry_server.pages.registry_view import RegistryView
from registry_server.pages.stage import Content, Staged, content_of, stage_page
from registry_server.storage import database
from rye.errors import RyeError
from rye.registry.protocol.statements import Release
from rye.registry.protocol.wire import StageRow
from rye.registry.trust.records import latest_release

_READ = [HttpMethod.GET, HttpMethod.HEAD]
_HERE = f"{HOME}/stages"


@route(_HERE, http_method=_READ)
async def _stages(request: AnyRequest) -> Response[bytes]:
    service, member = service_of(request), await signed_in(request)
    if member is None:
        return sign_in_first(request)
    rows = await asyncio.to_thread(service.staging.listing, await _account(service, member), everything=False)
    return answer(request, stages_page(signed(request, member, _HERE), rows))


@route(f"{_HERE}/{{stage:str}}", http_method=_READ)
async def _stage(request: AnyRequest, stage: FromPath[str]) -> Response[bytes]:
    service, member = service_of(request), await signed_in(request)
    if member is None:
        return sign_in_first(request)
    service.form_rate.take(f"account {member.id}")  # each page costs some work
    account = await _account(service, member)
    row, content = await asyncio.to_thread(_content, service, account, stage[:100])
    signers = await asyncio.to_thread(service.staging.signers, account, row.id) if content is not None else None
    may_reject = _owns(account, row.namespace) and row.state == "staged"
    return answer(request, stage_page(signed(request, member, _HERE), row, content, signers, may_reject=may_reject))


@route(f"{_HERE}/{{stage:str}}/reject", http_method=_READ)
async def _ask_to_reject(request: AnyRequest, stage: FromPath[str]) -> Response[bytes]:
    service, member = service_of(request), await signed_in(request)
    if member is None:
        return sign_in_first(request)
    row = await _rejectable(service, await _account(service, member), stage)
    if row.state != "staged":
        return redirect(f"{_HERE}/{row.id}")
    return answer(request, rejecting_page(signed(request, member, _HERE), row))


@route(f"{_HERE}/{{stage:str}}/reject", http_method=[HttpMethod.POST])
async def _reject(request: AnyRequest, stage: FromPath[str]) -> Response[bytes]:
    service = service_of(request)
    member, form = await form_of(request)
    reason = one(form, "reason").strip()[:200]
    if not reason or not reason.isprintable():
        raise RyeError("bad-request", "Give a reason on one line.", None)
    account = await _account(service, member)
    row = await _rejectable(service, account, stage)
    await asyncio.to_thread(service.staging.reject, account, row.id, reason, address_of(request))
    return redirect(_HERE)


async def _rejectable(service: Service, account: Account, stage: str) -> StageRow:
    """Return a stage that the account may reject. Raises RyeError ``no-such-entry``, ``insufficient-role``."""
    row = (await asyncio.to_thread(service.staging.detail, account, stage[:100])).stage
    if not _owns(account, row.namespace):
        raise RyeError(
            "insufficient-role", f"Only owners of {row.namespace} can reject here.", f"Run `rye stage reject {row.id}`."
        )
    return row


async def _account(service: Service, member: AccountMember) -> Account:
    def look(connection: sa.Connection) -> tuple[tuple[str, str], ...]:
        return roles.of_account(connection, member.id)

    return staging_account(member, await reading(service, look))


def _owns(account: Account, namespace: str) -> bool:
    return dict(account.roles).get(namespace) == "owner"


def _content(service: Service, account: Account, identifier: str) -> tuple[StageRow, Content | None]:
    """Return a stage and its content. Blocks. Raises the same RyeError ``no-such-entry`` for a stage the account may
    not see."""
    detail = service.staging.detail(account, identifier)
    if detail.stage.state != "staged":
        return detail.stage, None
    release = Release.parse(detail.draft)

    def file(sha256: str) -> bytes:
        return service.staging.file(account, identifier, sha256)

    data, attached = file(release.file.sha256), {entry.path: file(entry.sha256) for entry in release.attached}
    with database.reader(service.engine) as connection:
        view = RegistryView(connection, service.public, service.pages.site(), Reader(), service.pages.hour())
        links = view.chain(release.identity.namespace).current(view.published.time)
        history = view.history(release.identity)
        last = latest_release(history) if history is not None else None
        files = files_of(view, last)[0] if last is not None else {}
    keys = links.keyset.accepted_keys() if links is not None else ()
    there = {path: content for path, content in files.items() if content is not None}
    before = Side(last, there) if last is not None else None
    return detail.stage, content_of(Staged(release, data, attached, keys), before)


STAGE_PAGES = (_stages, _stage, _ask_to_reject, _reject)
