"""The application: static files, the calls for writing and searching, pages, and health checks.

=========================================  ====================================================================================
``GET`` the paths of the protocol          static files: :mod:`registry_server.api.files`
``POST``/``PUT /api/v1/blobs/<sha256>``    store bytes until a statement refers to them; they are not served before
``POST /api/v1/statements``                append signed statements, all of a request or none
``GET /api/v1/search``                     full-text search
``GET /api/v1/similar``                    existing names that people may confuse with new ones
``GET /api/v1/whoami[?account=1]``         the token's name, scopes, namespaces and expiry; its account
other programs' paths                      :mod:`registry_server.api.interop_layer`
other registries' files                    :mod:`registry_server.api.upstream_layer`
``/api/v1/stages``                         releases that wait for a signature: :mod:`registry_server.api.staging_routes`
``/api/v1/admin/…``                        for operators: :mod:`registry_server.api.admin.routes`
``GET /livez``, ``/readyz``, ``/metrics``  for monitoring: :mod:`registry_server.api.operating_routes`
``GET /openapi.json``                      all of these calls as an OpenAPI document
``GET /``, ``/-/…``                        pages for people: :mod:`registry_server.api.page_routes`
=========================================  ====================================================================================

Every failure, including routing errors and errors inside the server, is ``{"error": {"code", "message", "hint"}}`` with
a fitting status, or a page for browsers. A body is read only after the token has been checked, never beyond its limit
and never for longer than ``request_seconds``.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from functools import cache, partial
from typing import Any
from urllib.parse import quote

from litestar import HttpMethod, Litestar, Request, Response, get, route
from litestar.datastructures import State
from litestar.exceptions import HTTPException
from litestar.params import FromPath
from litestar.routes import HTTPRoute
from msgspec import UNSET

from registry_server.api import openapi
from registry_server.api.account_pages import ACCOUNT_ROUTES, refused_page
from registry_server.api.admin.routes import ADMIN_ROUTES
from registry_server.api.appending import append
from registry_server.api.examination import require_scope
from registry_server.api.files import Application, Files, send_answer
from registry_server.api.interop_layer import InteropLayer
from registry_server.api.operating_routes import METRICS, OPERATING_ROUTES
from registry_server.api.operations import Parameter, described, operations_of
from registry_server.api.page_routes import PAGE_ROUTES, refused_reading
from registry_server.api.private_reading import (
    ACCOUNT_KEY,
    blob_of,
    hidden_blob,
    is_limited,
    is_open,
    refusal,
    require_reader,
)
from registry_server.api.reading import ReadAnswer
from registry_server.api.record_routes import RECORD_ROUTES
from registry_server.api.request_log import RequestLog
from registry_server.api.requests import (
    SAFE_HEADERS,
    SERVICE_KEY,
    account_of,
    body_and_account,
    decode_request,
    json_answer,
    number_of,
    page_answer,
    reader_of,
    refuse_nul,
    service_of,
    to_the_end,
)
from registry_server.api.role_pages import ROLE_ROUTES
from registry_server.api.service import Service
from registry_server.api.similar_names import SIMILAR_ROUTES
from registry_server.api.stage_pages import STAGE_PAGES
from registry_server.api.staging_routes import STAGING_ROUTES
from registry_server.api.token_routes import TOKEN_ROUTES
from registry_server.api.unknown_routes import allowed_methods, hint_for_method, hint_for_path
from registry_server.api.upstream_layer import UpstreamLayer
from registry_server.interop.apm import PROBLEM, problem
from registry_server.interop.paths import APM
from registry_server.pages.limits import PAGES
from registry_server.storage.served import served
from rye.errors import RyeError
from rye.items.identity import is_segment
from rye.items.kinds import KINDS
from rye.registry.protocol import wire

_log = logging.getLogger("rye.registry")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_WORDS = {"type": "string", "minLength": 2, "maxLength": 200}
_SEGMENT = {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}
_OFFSET = {"type": "integer", "minimum": 0, "maximum": wire.SEARCH_TOTAL, "default": 0}

#: HTTP status by error code. Any other code is about a statement that cannot be processed (422).
_STATUS = {
    "unauthorized": 401,
    "account-disabled": 403,
    "form-foreign": 403,
    "link-used": 410,
    "withdrawn": 410,
    "sign-in-needed": 401,
    "sign-in-refused": 403,
    "no-such-entry": 404,
    "oidc-refused": 403,
    "issuer-unavailable": 503,
    "insufficient-scope": 403,
    "not-an-operator": 403,
    "wrong-namespace": 403,
    "claims-closed": 403,
    "not-found": 404,
    "method-not-allowed": 405,
    "request-timeout": 408,
    "too-many-requests": 429,
    "too-many": 409,
    "last-owner": 409,
    "insufficient-role": 403,
    "already-exists": 409,
    "version-exists": 409,
    "namespace-taken": 409,
    "name-look-alike": 409,
    "proofs-off": 403,
    "keyset-chain": 409,
    "keyset-number": 409,
    "request-too-large": 413,
    "file-too-large": 413,
    "namespace-full": 413,
    "too-many-files": 413,
    "taken-down": 451,
    "release-held": 451,
    "namespace-conflict": 409,
    "namespace-elsewhere": 409,
    "upstream-unavailable": 503,
    "upstream-refused": 502,
    "client-gone": 499,
    "bad-request": 400,
    "query-too-short": 400,
    "note-too-large": 413,
    "note-malformed": 400,
    "note-base64": 400,
    "statement-malformed": 400,
    "statement-kind": 400,
    "busy": 503,
    "git-dumb": 403,
    "git-read-only": 403,
    "stage-decided": 409,
    "stage-differs": 409,
    "stage-note-old": 409,
    "stage-signed-otherwise": 409,
    "stages-full": 507,
    "uploads-full": 507,
    "storage-full": 507,
    "publish-timeout": 503,
    "internal": 500,
    "head-old": 503,
    "sequencer-stuck": 503,
    "clock-ahead": 503,
    "clock-jumped": 503,
    "root-expired": 503,
    "database-behind": 503,
    "database-busy": 503,
    "database-damaged": 503,
    "database-encoding": 503,
    "database-silent": 503,
    "database-too-new": 503,
    "database-unavailable": 503,
    "store-credentials": 503,
    "store-foreign": 503,
    "store-silent": 503,
    "store-slow": 503,
    "store-unavailable": 503,
    "writer-silent": 503,
    "log-key-missing": 503,
}

Handler = Callable[[Request[Any, Any, State], Service], Awaitable[Response[bytes]]]


def create_app(service: Service) -> Application:
    """The ASGI application around a running service."""
    routes = framework()

    async def routed(scope: Any, receive: Any, send: Any) -> None:
        if (
            scope["type"] == "http" and scope["method"] == "OPTIONS"
        ):  # the framework names the methods of one handler only
            allow = ", ".join(_allowed(scope["path"])).encode()
            await send_answer(send, ReadAnswer(204, ((b"allow", allow),), b""))
            return
        path = scope.get("path", "")
        if path != METRICS and [part for part in path.split("/") if part] == [METRICS[1:]]:
            # The framework would answer `/metrics/` like `/metrics`, and pass a proxy that closes just that one.
            await send_answer(send, _for_program(service, hidden_blob(path), scope))
            return
        scope[SERVICE_KEY] = service
        await routes(scope, receive, send)

    gate = None if service.settings.read == "public" else partial(_gate, service)
    behind: Application = routed
    if service.settings.interoperate:
        behind = InteropLayer(service, behind, partial(_for_program, service))
    if service.settings.upstream:
        behind = UpstreamLayer(service, behind, partial(_for_program, service))
    files = Files(service.public, behind, gate)
    return RequestLog(files, service.metrics, service.settings)


@cache
def framework() -> Litestar:
    """The routes. They are the same for every service and slow to build, so a process builds them once."""
    return Litestar(
        route_handlers=ROUTES,
        openapi_config=None,
        before_request=refuse_nul,
        exception_handlers={Exception: _failed},
        request_max_body_size=None,  # bodies are read and capped here
        logging_config=None,
    )


async def _gate(service: Service, scope: Any) -> ReadAnswer | None:
    """Check a request to a registry that is not public; return the refusal, if any
    (:mod:`registry_server.api.private_reading`)."""
    path = scope["path"]
    if is_open(path):
        return None
    try:
        account = require_reader(await reader_of(service, scope))
        scope[ACCOUNT_KEY] = account
        sha256 = blob_of(path) if is_limited(service.settings) else None
        if sha256 is not None and account.readable is not None:
            owners = await asyncio.to_thread(service.blob_owners, sha256)
            if not any(account.may_read(namespace) for namespace in owners):
                raise hidden_blob(path)
    except RyeError as error:
        service.refused(error.code)
        status = _STATUS.get(error.code, 422)
        if path.startswith(APM):
            return _for_program(service, error, scope)
        error = service.failure_words.told(error, scope)
        return refusal(error, status, refused_reading(service, error, status, _accepted(scope), _asked(scope)))
    return None


def _for_program(service: Service, error: RyeError, scope: Any) -> ReadAnswer:
    """An error in the form that programs asking for this path expect."""
    error, path = service.failure_words.told(error, scope), scope["path"]
    status = _STATUS.get(error.code, 422)
    if path.startswith(APM):
        return refusal(error, status, problem(error, status, path), PROBLEM)
    return refusal(error, status)


# -- static files --------------------------------------------------------------------------------------------------------


@route("/{path:path}", http_method=[HttpMethod.GET, HttpMethod.HEAD])
async def _absent(request: Request[Any, Any, State]) -> Response[bytes]:
    """Handle a path for which :class:`registry_server.api.files.Files` found no file."""
    service = service_of(request)
    path = request.scope["path"]
    file = served(path)
    if file is not None and file.path.startswith("blobs/"):
        reason = await asyncio.to_thread(service.taken_down, file.path.rpartition("/")[2])
        if reason is not None:
            raise RyeError("taken-down", f"The registry's owners took this file down: {reason}", None)
    if file is not None:
        await asyncio.to_thread(service.public.get, file.path)  # a store error does not mean that the file is absent
    raise hidden_blob(path)


# -- writing -------------------------------------------------------------------------------------------------------------


@described(
    "putBlob",
    "Keep bytes until a statement refers to them. Repeating is harmless.",
    {200: wire.BlobAnswer, 201: wire.BlobAnswer},
    (400, 401, 403, 408, 413, 422, 429, 503, 507),
    body=bytes,
    needs_token=True,
)
@route("/api/v1/blobs/{sha256:str}", http_method=[HttpMethod.POST, HttpMethod.PUT])
async def _blobs(request: Request[Any, Any, State], sha256: FromPath[str]) -> Response[bytes]:
    service = service_of(request)
    account = await account_of(request)
    require_scope(account, "publish", "stage")
    if _SHA256.fullmatch(sha256) is None:
        raise RyeError("bad-request", "A blob's name is its SHA-256: 64 lower-case hex digits.", None)
    with service.quotas.request(account.owner):
        content, account = await body_and_account(request, account, service.settings.blob_bytes)
        with service.writing(account):
            is_new = await to_the_end(asyncio.to_thread(service.keep_upload, account, sha256, content))
    body = wire.encode_json(wire.BlobAnswer(sha256, len(content), not is_new))
    return json_answer(body, 201 if is_new else 200)


@described(
    "postStatements",
    "Append signed statements, all or none. The answer comes when they are in a durable, signed checkpoint.",
    {200: wire.StatementsAnswer},
    (400, 401, 403, 408, 409, 413, 422, 429, 451, 503, 507),
    body=wire.StatementsRequest,
    needs_token=True,
)
@route("/api/v1/statements", http_method=[HttpMethod.POST])
async def _statements(request: Request[Any, Any, State]) -> Response[bytes]:
    service = service_of(request)
    account = await account_of(request)
    with service.quotas.request(account.owner):
        body, account = await body_and_account(request, account, service.settings.request_bytes)
        with service.writing(account):
            wanted = decode_request(body, wire.StatementsRequest)
            if wanted.blobs:
                require_scope(account, "publish", "stage")
            receipt, candidates = await append(request, account, wanted.notes, wanted.blobs)
    if account.account is not None:
        await asyncio.to_thread(service.claimed, account, candidates, receipt)
    service.counted(candidates, receipt)
    results = [wire.StatementResult(result.position, result.duplicate) for result in receipt.results]
    return json_answer(wire.encode_json(wire.StatementsAnswer(results, receipt.size)))


# -- questions -----------------------------------------------------------------------------------------------------------


@described(
    "search",
    "Find items by words of their id, description, keywords and text, best matches first.",
    {200: wire.SearchAnswer},
    (400, 401, 403, 503),
    Parameter("q", "query", "Search words, optionally after KIND:.", _WORDS, True),
    Parameter("kind", "query", "Only this kind.", {"type": "string", "enum": list(KINDS)}),
    Parameter("namespace", "query", "Only this namespace.", _SEGMENT),
    Parameter("limit", "query", "Results per page.", _LIMIT),
    Parameter("offset", "query", "Results to skip.", _OFFSET),
)
@get("/api/v1/search")
async def _search(request: Request[Any, Any, State]) -> Response[bytes]:
    service, limits = service_of(request), service_of(request).settings
    visible: tuple[str, ...] | None = None
    if limits.read != "public":
        account = require_reader(await reader_of(service, request.scope))
        visible = account.readable if is_limited(limits) else None
    query = request.query_params.get("q", "")
    kind = request.query_params.get("kind") or None
    namespace = request.query_params.get("namespace") or None
    if len(query) > limits.search_characters:
        raise RyeError(
            "bad-request", f"The query has more than {limits.search_characters} characters.", "Use fewer words."
        )
    if kind is not None and kind not in KINDS:
        raise RyeError("bad-request", f"{kind[:80]!r} is not a kind of item.", f"Kinds: {KINDS.names()}.")
    if namespace is not None and not is_segment(namespace):
        raise RyeError("bad-request", f"{namespace[:80]!r} is not a namespace.", None)
    limit = number_of(request, "limit", 20, 1, limits.search_results)
    offset = number_of(request, "offset", 0, 0, wire.SEARCH_TOTAL)
    await service.pages.turn(PAGES.search_pace_seconds)
    page = await asyncio.wrap_future(
        service.searches.ask(query, kind=kind, namespace=namespace, visible=visible, limit=limit, offset=offset)
    )
    results = [wire.SearchResult(hit.id, hit.kind, hit.version, hit.description, hit.score) for hit in page.hits]
    return json_answer(wire.encode_json(wire.SearchAnswer(results, page.total)))


@described(
    "whoami",
    "The token's name, scopes and namespaces.",
    {200: wire.WhoamiAnswer},
    (400, 401, 503),
    Parameter("account", "query", "1: with the account that owns it.", {"type": "string", "enum": ["0", "1"]}),
    needs_token=True,
)
@get("/api/v1/whoami")
async def _whoami(request: Request[Any, Any, State]) -> Response[bytes]:
    account = await account_of(request)
    answer = wire.WhoamiAnswer(
        name=account.name,
        token=account.token,
        namespaces=list(account.namespaces),
        scopes=list(account.scopes),
        expires=account.expires,
        account=(number_of(request, "account", 0, 0, 1) and account.account_name) or UNSET,
    )
    return json_answer(wire.encode_json(answer))


@described("openapi", "This document.", {200: dict[str, Any]})
@get("/openapi.json")
async def _openapi() -> Response[bytes]:
    headers = {"Cache-Control": "no-cache", "Access-Control-Allow-Origin": "*", **SAFE_HEADERS}
    return Response(_document(), media_type="application/json", headers=headers)


ROUTES = (
    _blobs, _statements, _search, _whoami,
    *STAGING_ROUTES, *SIMILAR_ROUTES, *TOKEN_ROUTES, *ADMIN_ROUTES, *OPERATING_ROUTES, _openapi,
    *ACCOUNT_ROUTES, *ROLE_ROUTES, *STAGE_PAGES, *PAGE_ROUTES, *RECORD_ROUTES, _absent,
)  # fmt: skip
OPERATIONS = operations_of(ROUTES)
"""The calls in the OpenAPI document. Static files of the protocol are not calls; docs/reference/protocol.md describes them."""


@cache
def _document() -> bytes:
    return openapi.document(OPERATIONS)


# -- errors --------------------------------------------------------------------------------------------------------------


def _failed(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """Answer any failure with the error document, or with a page for browsers."""
    error = service_of(request).failure_words.told(_as_rye_error(request, error), request.scope)
    status = _STATUS.get(error.code, 422)
    headers = {"Allow": ", ".join(_allowed(request.scope["path"]))} if status == 405 else {}
    if request.scope["path"].startswith("/-/account"):
        service_of(request).refused(error.code)
        page = refused_page(service_of(request), error, status)
        page.headers.update(headers)
        return page
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status in (429, 503):
        headers["Retry-After"] = "1" if error.code == "busy" else "5"
    service_of(request).refused(error.code)
    html = refused_reading(service_of(request), error, status, _accepted(request.scope), _asked(request.scope))
    if html is not None:
        return page_answer(html, status, {**headers, "Vary": "Accept"})
    hint = error.hint[:4000] if error.hint else None
    answer = wire.ErrorAnswer(wire.ErrorBody(error.code, error.message[:4000], hint))
    return json_answer(wire.encode_json(answer), status, {**headers, "Vary": "Accept"})


def _allowed(path: str) -> list[str]:
    templates = [(each.path, each.methods) for each in framework().routes if isinstance(each, HTTPRoute)]
    return allowed_methods(templates, path) or ["GET", "HEAD", "OPTIONS"]  # of static files


def _asked(scope: Any) -> str:
    """The path of a request with its query, as far as a browser may return to it or look for it."""
    query = scope["query_string"].decode("latin-1")
    return (quote(scope["path"], safe="/@:+~") + (f"?{query}" if query else ""))[:500]


def _accepted(scope: Any) -> str:
    """The ``Accept`` header of a read; empty for any other request, so its failure is always a JSON document."""
    if scope["method"] not in ("GET", "HEAD") or scope["path"].startswith("/api/"):
        return ""
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"accept"), "")


def _as_rye_error(request: Request[Any, Any, Any], error: Exception) -> RyeError:
    if isinstance(error, RyeError):
        return error
    if isinstance(error, HTTPException):
        if error.status_code == 404:
            path = request.scope["path"]
            hint = hint_for_path(OPERATIONS, request.scope["method"], path)
            return RyeError("not-found", f"There is nothing at {path[:200]}.", hint)
        if error.status_code == 405:
            return RyeError(
                "method-not-allowed",
                f"The method {request.scope['method'][:20]} is not allowed here.",
                hint_for_method(OPERATIONS, request.scope["path"]),
            )
        if error.status_code < 500:
            return RyeError("bad-request", "The request is malformed.", None)
    _log.error("a request failed", exc_info=error)
    return RyeError("internal", "The registry failed to answer; its log says why.", "Try again, or tell its operator.")
