"""Endpoints for operators: liveness, readiness and metrics."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, get
from litestar.datastructures import State
from msgspec.structs import replace

from registry_server.api.forwarded import is_from_here
from registry_server.api.metrics import CONTENT_TYPE, may_read
from registry_server.api.operations import described
from registry_server.api.requests import SAFE_HEADERS, json_answer, reader_of, service_of
from rye.errors import RyeError
from rye.registry.protocol import wire

METRICS = "/metrics"


@described("livez", "Whether the server answers.", {200: wire.LiveAnswer})
@get("/livez")
async def _live() -> Response[bytes]:
    return json_answer(wire.encode_json(wire.LiveAnswer("ok")))


@described(
    "readyz",
    "Whether the registry can publish: database, store, age of the head, the thread that appends.",
    {200: wire.ReadyAnswer},
    (503, 507),
)
@get("/readyz")
async def _ready(request: Request[Any, Any, State]) -> Response[bytes]:
    service = service_of(request)
    answer = await service.readiness.ask()
    if answer.warnings and not await _may_see_warnings(request):
        answer = replace(answer, warnings=[])
    return json_answer(wire.encode_json(answer))


async def _may_see_warnings(request: Request[Any, Any, State]) -> bool:
    """Whether the warnings, which name other registries and their namespaces, are for who asks: of a registry that is not public,
    strangers learn only that it is ready."""
    service = service_of(request)
    if service.settings.read == "public" or is_from_here(request.scope, service.settings.trusted_proxies):
        return True
    reader = await reader_of(service, request.scope)
    return reader is not None and reader.has("read")


@described("metrics", "Counts and times for Prometheus.", {200: None}, (401, 403, 404))
@get(METRICS)
async def _metrics(request: Request[Any, Any, State]) -> Response[bytes]:
    service = service_of(request)
    if not may_read(request.scope, service.settings.metrics, service.settings.trusted_proxies):
        raise RyeError(
            "not-found", "There is nothing at /metrics for you.", "The setting `metrics` controls who may read it."
        )
    headers = {"Cache-Control": "no-store", **SAFE_HEADERS}
    return Response(await service.metrics_text(), media_type=CONTENT_TYPE, headers=headers)


OPERATING_ROUTES = (_live, _ready, _metrics)
