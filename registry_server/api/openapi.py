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
        name="putBlob",
        method="post",
        path="/api/v1/blobs/{sha256}",
        words="Keep bytes until a statement refers to them. Repeating is harmless.",
        answers={200: wire.BlobAnswer, 201: wire.BlobAnswer},
        errors=(400, 401, 403, 408, 413, 422, 429, 503, 507),
        parameters=(Parameter("sha256", "path", "SHA-256 of the bytes.", _SHA256, True),),
        body=bytes,
        needs_token=True,
    ),
    Operation(
        name="postStatements",
        method="post",
        path="/api/v1/statements",
        words="Append signed statements, all or none. The answer comes when they are in a durable, signed checkpoint.",
        answers={200: wire.StatementsAnswer},
        errors=(400, 401, 403, 408, 409, 413, 422, 429, 451, 503, 507),
        body=wire.StatementsRequest,
        needs_token=True,
    ),
    Operation(
        name="search",
        method="get",
        path="/api/v1/search",
        words="Find items by words of their id, description and keywords, best matches first.",
        answers={200: wire.SearchAnswer},
        errors=(400, 401, 403, 503),
        parameters=(
            Parameter("q", "query", "Search words, optionally after KIND:.", _WORDS, True),
            Parameter("kind", "query", "Only this kind.", {"type": "string", "enum": list(KINDS)}),
            Parameter("namespace", "query", "Only this namespace.", _SEGMENT),
            Parameter("limit", "query", "Results per page.", _LIMIT),
            Parameter("offset", "query", "Results to skip.", _OFFSET),
        ),
    ),
    Operation(
        name="whoami",
        method="get",
        path="/api/v1/whoami",
        words="The token's name, scopes and namespaces.",
        answers={200: wire.WhoamiAnswer},
        errors=(401, 503),
        needs_token=True,
    ),
    Operation(
        name="listStages",
        method="get",
        path="/api/v1/stages",
        words="The releases waiting for a maintainer's signature that the token may see.",
        answers={200: wire.StagesAnswer},
        errors=(401, 403, 503),
        parameters=(Parameter("all", "query", "1: include decided ones.", {"type": "string", "enum": ["1"]}),),
        needs_token=True,
    ),
    Operation(
        name="stage",
        method="post",
        path="/api/v1/stages",
        words="Stage releases whose bytes were uploaded.",
        answers={201: wire.StagesAnswer},
        errors=(400, 401, 403, 408, 409, 413, 422, 429, 503, 507),
        body=wire.StageRequest,
        needs_token=True,
    ),
    Operation(
        name="showStage",
        method="get",
        path="/api/v1/stages/{stage}",
        words="One stage: its draft, the signatures so far, its files.",
        answers={200: wire.StageDetail},
        errors=(401, 403, 404, 503),
        parameters=(_STAGE,),
        needs_token=True,
    ),
    Operation(
        name="stageFile",
        method="get",
        path="/api/v1/stages/{stage}/files/{sha256}",
        words="The bytes of a file of the stage.",
        answers={200: bytes},
        errors=(400, 401, 403, 404, 503),
        parameters=(_STAGE, Parameter("sha256", "path", "SHA-256 of the file.", _SHA256, True)),
        needs_token=True,
    ),
    Operation(
        name="approveStage",
        method="post",
        path="/api/v1/stages/{stage}/approvals",
        words="Add a maintainer's signed note; the last one that is needed publishes the release.",
        answers={200: wire.StageRow},
        errors=(400, 401, 403, 404, 408, 409, 413, 422, 429, 503, 507),
        parameters=(_STAGE,),
        body=wire.ApprovalRequest,
        needs_token=True,
    ),
    Operation(
        name="rejectStage",
        method="post",
        path="/api/v1/stages/{stage}/rejection",
        words="End a stage without a release.",
        answers={200: wire.StageRow},
        errors=(400, 401, 403, 404, 408, 409, 413, 429, 503),
        parameters=(_STAGE,),
        body=wire.RejectionRequest,
        needs_token=True,
    ),
    Operation(
        name="exchangeOidcToken",
        method="post",
        path="/api/v1/oidc/exchange",
        words="Exchange a build server's identity token for a registry token that is valid for some minutes.",
        answers={200: wire.ExchangeAnswer},
        errors=(400, 401, 403, 408, 413, 422, 429, 503),
        body=wire.ExchangeRequest,
    ),
    Operation(
        name="beginDeviceLogin",
        method="post",
        path="/api/v1/device/authorize",
        words="Begin to sign in a program through a browser (RFC 8628). The body is a form with client_id and name.",
        answers={200: wire.DeviceBegun},
        errors=(408, 413, 429, 503),
        body=bytes,
    ),
    Operation(
        name="pollDeviceLogin",
        method="post",
        path="/api/v1/device/token",
        words="Get the token once a person has confirmed (RFC 8628). The body is a form with grant_type and device_code.",
        answers={200: wire.DeviceToken, 400: wire.DeviceError},
        errors=(408, 413, 429, 503),
        body=bytes,
    ),
    *ADMIN_OPERATIONS,
    Operation(
        name="livez", method="get", path="/livez", words="Whether the server answers.", answers={200: wire.LiveAnswer}
    ),
    Operation(
        name="readyz",
        method="get",
        path="/readyz",
        words="Whether the registry can publish: database, store, age of the head, the thread that appends.",
        answers={200: wire.ReadyAnswer},
        errors=(503, 507),
    ),
    Operation(
        name="metrics",
        method="get",
        path="/metrics",
        words="Counts and times for Prometheus.",
        answers={200: None},
        errors=(401, 403, 404),
    ),
    Operation(
        name="openapi", method="get", path="/openapi.json", words="This document.", answers={200: dict[str, Any]}
    ),
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
    described: dict[str, Any] = {"operationId": operation.name, "summary": operation.words, "responses": responses}
    if operation.parameters:
        described["parameters"] = [
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
        described["requestBody"] = {"required": True, "content": {"application/octet-stream": {}}}
    elif operation.body is not None:
        described["requestBody"] = {"required": True, "content": {_JSON: {"schema": _schema(operation.body)}}}
    # A registry that is not public also requires a token for reading.
    described["security"] = [{"token": []}] if operation.needs_token else [{}, {"token": []}]
    return described


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
