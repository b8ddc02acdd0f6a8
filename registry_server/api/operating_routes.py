"""Endpoints for operators: liveness, readiness and metrics."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, get
from litestar.datastructures import State

from registry_server.api.metrics import CONTENT_TYPE, may_read
from registry_server.api.operations import described
from registry_server.api.requests import SAFE_HEADERS, json_answer, service_of
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
    return json_answer(wire.encode_json(await service_of(request).readiness.ask()))


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
