"""The OpenAPI 3.1 document at ``/openapi.json``, generated from the types of requests and answers.

One row for each call (:data:`OPERATIONS`); a test compares the rows with the actual routes, both ways. Static files of
the protocol are not calls; docs/reference/protocol.md describes them.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from registry_server.api.admin.operations import ADMIN_OPERATIONS
from registry_server.api.operations import Operation, Parameter
from rye import __version__
from rye.items.kinds import KINDS
from rye.registry.protocol import wire

_JSON = "application/json"
_REFERENCE = "#/components/schemas/{name}"
_SHA256 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


_WORDS = {"type": "string", "minLength": 2, "maxLength": 200}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}
_OFFSET = {"type": "integer", "minimum": 0, "maximum": wire.SEARCH_TOTAL, "default": 0}
_SEGMENT = {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"}

_STAGE = Parameter("stage", "path", "The stage's ID.", {"type": "string", "maxLength": 64}, True)

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "putBlob",
        "post",
        "/api/v1/blobs/{sha256}",
        "Keep bytes until a statement refers to them. Repeating is harmless.",
        {200: wire.BlobAnswer, 201: wire.BlobAnswer},
        (400, 401, 403, 408, 413, 422, 429, 503, 507),
        (Parameter("sha256", "path", "SHA-256 of the bytes.", _SHA256, True),),
        bytes,
        needs_token=True,
    ),
    Operation(
        "postStatements",
        "post",
        "/api/v1/statements",
        "Append signed statements, all or none. The answer comes when they are in a durable, signed checkpoint.",
        {200: wire.StatementsAnswer},
        (400, 401, 403, 408, 409, 413, 422, 429, 451, 503, 507),
        body=wire.StatementsRequest,
        needs_token=True,
    ),
    Operation(
        "search",
        "get",
        "/api/v1/search",
        "Find items by words of their id, description and keywords, best matches first.",
        {200: wire.SearchAnswer},
        (400, 401, 403, 503),
        (
            Parameter("q", "query", "Search words, optionally after KIND:.", _WORDS, True),
            Parameter("kind", "query", "Only this kind.", {"type": "string", "enum": list(KINDS)}),
            Parameter("namespace", "query", "Only this namespace.", _SEGMENT),
            Parameter("limit", "query", "Results per page.", _LIMIT),
            Parameter("offset", "query", "Results to skip.", _OFFSET),
        ),
    ),
    Operation(
        "whoami",
        "get",
        "/api/v1/whoami",
        "The token's name, scopes and namespaces.",
        {200: wire.WhoamiAnswer},
        (401, 503),
        needs_token=True,
    ),
    Operation(
        "listStages",
        "get",
        "/api/v1/stages",
        "The releases waiting for a maintainer's signature that the token may see.",
        {200: wire.StagesAnswer},
        (401, 403, 503),
        (Parameter("all", "query", "1: include decided ones.", {"type": "string", "enum": ["1"]}),),
        needs_token=True,
    ),
    Operation(
        "stage",
        "post",
        "/api/v1/stages",
        "Stage releases whose bytes were uploaded.",
        {201: wire.StagesAnswer},
        (400, 401, 403, 408, 409, 413, 422, 429, 503, 507),
        body=wire.StageRequest,
        needs_token=True,
    ),
    Operation(
        "showStage",
        "get",
        "/api/v1/stages/{stage}",
        "One stage: its draft, the signatures so far, its files.",
        {200: wire.StageDetail},
        (401, 403, 404, 503),
        (_STAGE,),
        needs_token=True,
    ),
    Operation(
        "stageFile",
        "get",
        "/api/v1/stages/{stage}/files/{sha256}",
        "The bytes of a file of the stage.",
        {200: bytes},
        (400, 401, 403, 404, 503),
        (_STAGE, Parameter("sha256", "path", "SHA-256 of the file.", _SHA256, True)),
        needs_token=True,
    ),
    Operation(
        "approveStage",
        "post",
        "/api/v1/stages/{stage}/approvals",
        "Add a maintainer's signed note; the last one that is needed publishes the release.",
        {200: wire.StageRow},
        (400, 401, 403, 404, 408, 409, 413, 422, 429, 503, 507),
        (_STAGE,),
        wire.ApprovalRequest,
        needs_token=True,
    ),
    Operation(
        "rejectStage",
        "post",
        "/api/v1/stages/{stage}/rejection",
        "End a stage without a release.",
        {200: wire.StageRow},
        (400, 401, 403, 404, 408, 409, 413, 429, 503),
        (_STAGE,),
        wire.RejectionRequest,
        needs_token=True,
    ),
    Operation(
        "exchangeOidcToken",
        "post",
        "/api/v1/oidc/exchange",
        "Exchange a build server's identity token for a registry token that is valid for some minutes.",
        {200: wire.ExchangeAnswer},
        (400, 401, 403, 408, 413, 422, 429, 503),
        body=wire.ExchangeRequest,
    ),
    Operation(
        "beginDeviceLogin",
        "post",
        "/api/v1/device/authorize",
        "Begin to sign in a program through a browser (RFC 8628). The body is a form with client_id and name.",
        {200: wire.DeviceBegun},
        (408, 413, 429, 503),
        body=bytes,
    ),
    Operation(
        "pollDeviceLogin",
        "post",
        "/api/v1/device/token",
        "Get the token once a person has confirmed (RFC 8628). The body is a form with grant_type and device_code.",
        {200: wire.DeviceToken, 400: wire.DeviceError},
        (408, 413, 429, 503),
        body=bytes,
    ),
    *ADMIN_OPERATIONS,
    Operation("livez", "get", "/livez", "Whether the server answers.", {200: wire.LiveAnswer}),
    Operation(
        "readyz",
        "get",
        "/readyz",
        "Whether the registry can publish: database, store, age of the head, the thread that appends.",
        {200: wire.ReadyAnswer},
        (503, 507),
    ),
    Operation("metrics", "get", "/metrics", "Counts and times for Prometheus.", {200: None}, (401, 403, 404)),
    Operation("openapi", "get", "/openapi.json", "This document.", {200: dict[str, Any]}),
)


@cache
def document() -> bytes:
    """Return the document as JSON, always the same bytes."""
    types = sorted(
        {kind for operation in OPERATIONS for kind in (*operation.answers.values(), operation.body) if _is_struct(kind)}
        | {wire.ErrorAnswer},
        key=lambda kind: kind.__name__,
    )
    _, schemas = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation)
    whole = {
        "openapi": "3.1.0",
        "info": {
            "title": "Rye registry",
            "version": __version__,
            "description": "The calls of a registry. Everything else that a client reads is a static file.",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {
                "Error": {
                    "description": "Why the call failed, and what to do.",
                    "content": {_JSON: {"schema": _schema(wire.ErrorAnswer)}},
                }
            },
        },
    }
    return json.dumps(_ecma(whole), ensure_ascii=False, separators=(",", ":")).encode()


_PLAIN: dict[Any, dict[str, Any]] = {
    None: {"text/plain": {"schema": {"type": "string"}}},
    bytes: {"application/octet-stream": {}},
}


def _operation(operation: Operation) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, kind in operation.answers.items():
        content: dict[str, Any] = {_JSON: {"schema": _schema(kind)}} if kind not in (None, bytes) else _PLAIN[kind]
        responses[str(status)] = {"description": "Success.", "content": content}
    responses |= {str(status): {"$ref": "#/components/responses/Error"} for status in operation.errors}
    responses["default"] = {"$ref": "#/components/responses/Error"}
    found: dict[str, Any] = {"operationId": operation.name, "summary": operation.words, "responses": responses}
    if operation.parameters:
        found["parameters"] = [
            {
                "name": parameter.name,
                "in": parameter.place,
                "description": parameter.words,
                "required": parameter.required,
                "schema": parameter.schema,
            }
            for parameter in operation.parameters
        ]
    if operation.body is bytes:
        found["requestBody"] = {"required": True, "content": {"application/octet-stream": {}}}
    elif operation.body is not None:
        found["requestBody"] = {"required": True, "content": {_JSON: {"schema": _schema(operation.body)}}}
    # A registry that is not public also requires a token for reading.
    found["security"] = [{"token": []}] if operation.needs_token else [{}, {"token": []}]
    return found


def _schema(kind: Any) -> dict[str, Any]:
    (schema,), _ = msgspec.json.schema_components([kind], ref_template=_REFERENCE)
    return schema


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _ecma(value: Any) -> Any:
    r"""Return the value with patterns in JSON Schema's dialect: Python's ``\Z`` is ``$`` in ECMAScript."""
    if isinstance(value, dict):
        return {
            key: part.replace("\\Z", "$") if key == "pattern" and isinstance(part, str) else _ecma(part)
            for key, part in value.items()
        }
    return [_ecma(part) for part in value] if isinstance(value, list) else value
