"""The OpenAPI 3.1 document at ``/openapi.json``, generated from the types of requests and answers.

Each route says what the document needs (:func:`registry_server.api.operations.described`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from registry_server.api.operations import FormBody, Operation
from rye import __version__
from rye.registry.protocol import wire

_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"
_REFERENCE = "#/components/schemas/{name}"


def document(operations: Sequence[Operation]) -> bytes:
    """Return the document as JSON, always the same bytes for the same calls."""
    types = sorted(
        {kind for operation in operations for kind in (*operation.answers.values(), operation.body) if _is_struct(kind)}
        | {wire.ErrorAnswer},
        key=lambda kind: kind.__name__,
    )
    _, schemas = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation)
    whole = {
        "openapi": "3.1.0",
        "info": {
            "title": "Rye registry",
            "version": __version__,
            "description": "The calls of a registry. Everything else that a client reads is a static file.",
            "contact": {"name": "Whoever operates this registry"},
        },
        "tags": [{"name": name, "description": words} for name, words in _TAGS.items()],
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


_TAGS = {
    "publishing": "Bytes and signed statements into the log.",
    "staging": "Releases that wait for a maintainer's signature.",
    "reading": "What no static file answers.",
    "signing in": "Getting a token, and what it may do.",
    "administration": "Accounts, teams, roles, tokens, webhooks and trusted publishers.",
    "operating": "Whether the server works, and what it counts.",
}
_TAG_OF = {
    "blobs": "publishing",
    "statements": "publishing",
    "stages": "staging",
    "search": "reading",
    "similar": "reading",
    "whoami": "signing in",
    "oidc": "signing in",
    "device": "signing in",
    "admin": "administration",
}
"""By the segment after the version; all other calls are for operating."""


def _tag(operation: Operation) -> str:
    parts = operation.path.split("/")
    return _TAG_OF[parts[3]] if parts[1] == "api" else "operating"


def _description(operation: Operation) -> str:
    if operation.needs_token:
        who = "Needs a token, as `Authorization: Bearer TOKEN`."
    elif operation.method == "get" and 401 in operation.errors:
        who = "Needs a token only where the registry is not public."
    else:
        who = "Needs no token."
    return f"{operation.words} {who}"


def _operation(operation: Operation) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, kind in operation.answers.items():
        content: dict[str, Any] = {_JSON: {"schema": _schema(kind)}} if kind not in (None, bytes) else _PLAIN[kind]
        responses[str(status)] = {"description": "Success.", "content": content}
    responses |= {str(status): {"$ref": "#/components/responses/Error"} for status in operation.errors}
    responses["default"] = {"$ref": "#/components/responses/Error"}
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.words,
        "description": _description(operation),
        "tags": [_tag(operation)],
        "responses": responses,
    }
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
    elif isinstance(operation.body, FormBody):
        fields = {name: {"type": "string", "description": words} for name, words in operation.body.fields.items()}
        form = {"type": "object", "properties": fields, "required": list(operation.body.required)}
        is_needed = bool(operation.body.required)
        described["requestBody"] = {"required": is_needed, "content": {_FORM: {"schema": form}}}
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
