"""Routes of :mod:`registry_server.api.staging`."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from litestar import HttpMethod, Request, Response, get, route
from litestar.datastructures import State
from litestar.params import FromPath

from registry_server.accounts.stages import files_of
from registry_server.accounts.tokens import Account
from registry_server.api.appending import append, check_count
from registry_server.api.examination import require_scope
from registry_server.api.forwarded import client_address
from registry_server.api.operations import SHA256, Parameter, described
from registry_server.api.requests import (
    SAFE_HEADERS,
    account_of,
    body_and_account,
    decode_request,
    json_answer,
    service_of,
    to_the_end,
)
from rye.errors import RyeError
from rye.registry.protocol import wire

_SHA256 = re.compile(r"[0-9a-f]{64}")


@described(
    "listStages",
    "The releases waiting for a maintainer's signature that the token may see.",
    {200: wire.StagesAnswer},
    (400, 401, 403, 503),
    Parameter("all", "query", "1: include decided ones.", {"type": "string", "enum": ["1"]}),
    needs_token=True,
)
@get("/api/v1/stages")
async def _listing(request: Request[Any, Any, State]) -> Response[bytes]:
    service, account = service_of(request), await _seer(request)
    everything = request.query_params.get("all")
    if everything not in (None, "1"):
        raise RyeError("bad-request", "The parameter `all` can only be 1.", "Leave it out to see what waits.")
    rows = await asyncio.to_thread(service.staging.listing, account, everything=everything == "1")
    return json_answer(wire.encode_json(wire.StagesAnswer(rows)))


@described(
    "stage",
    "Stage releases whose bytes were uploaded.",
    {201: wire.StagesAnswer},
    (400, 401, 403, 408, 409, 413, 422, 429, 503, 507),
    body=wire.StageRequest,
    needs_token=True,
)
@route("/api/v1/stages", http_method=[HttpMethod.POST])
async def _add(request: Request[Any, Any, State]) -> Response[bytes]:
    service, account = service_of(request), await account_of(request)
    require_scope(account, "stage", "publish")
    with service.quotas.request(account.owner):
        body, account = await body_and_account(request, account, service.settings.request_bytes)
        wanted = decode_request(body, wire.StageRequest)
        check_count(service.settings, len(wanted.drafts))
        with service.writing(account):
            address = client_address(request.scope, service.settings.trusted_proxies)
            rows = await to_the_end(asyncio.to_thread(service.staging.add, account, wanted.drafts, address))
    return json_answer(wire.encode_json(wire.StagesAnswer(rows)), 201)


@described(
    "showStage",
    "One stage: its draft, the signatures so far, its files.",
    {200: wire.StageDetail},
    (401, 403, 404, 503),
    needs_token=True,
)
@get("/api/v1/stages/{stage:str}")
async def _detail(request: Request[Any, Any, State], stage: FromPath[str]) -> Response[bytes]:
    service, account = service_of(request), await _seer(request)
    detail = await asyncio.to_thread(service.staging.detail, account, stage)
    return json_answer(wire.encode_json(detail))


@described(
    "stageFile",
    "The bytes of a file of the stage.",
    {200: bytes},
    (400, 401, 403, 404, 503),
    Parameter("sha256", "path", "SHA-256 of the file.", SHA256, True),
    needs_token=True,
)
@get("/api/v1/stages/{stage:str}/files/{sha256:str}")
async def _file(request: Request[Any, Any, State], stage: FromPath[str], sha256: FromPath[str]) -> Response[bytes]:
    service, account = service_of(request), await _seer(request)
    if _SHA256.fullmatch(sha256) is None:
        raise RyeError("bad-request", "A file's name is its SHA-256: 64 lower-case hex digits.", None)
    data = await asyncio.to_thread(service.staging.file, account, stage, sha256)
    headers = {"Cache-Control": "private, no-store", **SAFE_HEADERS}
    return Response(data, media_type="application/octet-stream", headers=headers)


@described(
    "approveStage",
    "Add a maintainer's signed note; the last one that is needed publishes the release.",
    {200: wire.StageRow},
    (400, 401, 403, 404, 408, 409, 413, 422, 429, 503, 507),
    body=wire.ApprovalRequest,
    needs_token=True,
)
@route("/api/v1/stages/{stage:str}/approvals", http_method=[HttpMethod.POST])
async def _approve(request: Request[Any, Any, State], stage: FromPath[str]) -> Response[bytes]:
    service, account = service_of(request), await account_of(request)
    require_scope(account, "publish")
    with service.quotas.request(account.owner):
        body, account = await body_and_account(request, account, service.settings.request_bytes)
        wanted = decode_request(body, wire.ApprovalRequest)
        address = client_address(request.scope, service.settings.trusted_proxies)
        with service.writing(account):
            signing = asyncio.to_thread(service.staging.sign, account, stage, wanted.note, address)
            approved, note = await to_the_end(signing)
            if note is not None:
                files = files_of(approved.draft)
                receipt, candidates = await append(request, account, [note.encode()], kept=files)
                position = receipt.results[0].position
                await asyncio.to_thread(service.staging.approved, account, approved.id, position, address)
                service.counted(candidates, receipt)
    row = await asyncio.to_thread(service.staging.row, stage)
    return json_answer(wire.encode_json(row))


@described(
    "rejectStage",
    "End a stage without a release.",
    {200: wire.StageRow},
    (400, 401, 403, 404, 408, 409, 413, 429, 503),
    body=wire.RejectionRequest,
    needs_token=True,
)
@route("/api/v1/stages/{stage:str}/rejection", http_method=[HttpMethod.POST])
async def _reject(request: Request[Any, Any, State], stage: FromPath[str]) -> Response[bytes]:
    service, account = service_of(request), await _seer(request)
    with service.quotas.request(account.owner):
        body, account = await body_and_account(request, account, service.settings.request_bytes)
        wanted = decode_request(body, wire.RejectionRequest)
        address = client_address(request.scope, service.settings.trusted_proxies)
        row = await asyncio.to_thread(service.staging.reject, account, stage, wanted.reason, address)
    return json_answer(wire.encode_json(row))


async def _seer(request: Request[Any, Any, State]) -> Account:
    """Return an account with a scope for stages. Which stages it may see is checked later."""
    account = await account_of(request)
    require_scope(account, "publish", "stage", "admin")
    return account


STAGING_ROUTES = (_listing, _add, _detail, _file, _approve, _reject)
