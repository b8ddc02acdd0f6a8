"""What the OpenAPI document says about a call, written at the call's route (:mod:`registry_server.api.openapi`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from litestar.handlers import HTTPRouteHandler
from msgspec import Struct

SHA256 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
TEXT_CHARACTERS = 200
TEXT = {"type": "string", "maxLength": TEXT_CHARACTERS, "pattern": "^[^\\u0000]*$"}
_KEY = "operation"
_Handler = TypeVar("_Handler", bound=HTTPRouteHandler)


class Parameter(Struct, frozen=True):
    """A parameter of a call."""

    name: str
    place: str
    """``path`` or ``query``."""
    words: str
    schema: dict[str, Any]
    required: bool = False


class FormBody(Struct, frozen=True):
    """A body that is a form (``application/x-www-form-urlencoded``)."""

    fields: dict[str, str]
    """Each field and what it means."""
    required: tuple[str, ...] = ()


class Operation(Struct, frozen=True, kw_only=True):
    """One call of the API."""

    name: str
    method: str
    path: str
    words: str
    answers: dict[int, Any]
    """Status → the type of the answer; None: text; ``bytes``: anything."""
    errors: Sequence[int] = ()
    parameters: Sequence[Parameter] = ()
    body: Any = None
    """The type of the request's body, or a :class:`FormBody`; ``bytes``: anything."""
    needs_token: bool = False


_IN_PATHS: dict[str, tuple[str, dict[str, Any]]] = {
    "account": ("The account's ID or name.", TEXT),
    "group": ("The ID of a group in a team.", TEXT),
    "namespace": ("The namespace.", TEXT),
    "publisher": ("The publisher's ID.", TEXT),
    "sha256": ("SHA-256 of the bytes.", SHA256),
    "stage": ("The stage's ID.", {"type": "string", "maxLength": 64}),
    "team": ("The team's name.", TEXT),
    "token": ("The token's ID.", TEXT),
    "webhook": ("The webhook's ID.", TEXT),
}
"""What each name in a path means, and its schema."""


def described(
    name: str,
    words: str,
    answers: dict[int, Any],
    errors: Sequence[int] = (),
    *parameters: Parameter,
    body: Any = None,
    needs_token: bool = False,
) -> Callable[[_Handler], _Handler]:
    """Describe the route below. Path and method are the route's own: the first versioned path, and POST if there are several
    methods. ``parameters``: those of the query, and one of the path that means something else here than elsewhere.
    """
    own = {parameter.name: parameter for parameter in parameters if parameter.place == "path"}
    query = [parameter for parameter in parameters if parameter.place == "query"]

    def describe(handler: _Handler) -> _Handler:
        path = min(handler.paths, key=lambda path: (not path.startswith("/api/v1/"), path))
        path = re.sub(r"\{(\w+):\w+\}", r"{\1}", path)
        handler.opt[_KEY] = Operation(
            name=name,
            method="post" if len(handler.http_methods) > 1 else next(iter(handler.http_methods)).lower(),
            path=path,
            words=words,
            answers=answers,
            errors=errors,
            parameters=[*(own.get(each) or _in_path(each) for each in re.findall(r"\{(\w+)\}", path)), *query],
            body=body,
            needs_token=needs_token,
        )
        return handler

    return describe


def _in_path(name: str) -> Parameter:
    return Parameter(name, "path", *_IN_PATHS[name], True)


def operations_of(handlers: Iterable[HTTPRouteHandler]) -> tuple[Operation, ...]:
    """Return the calls among some routes, in their order."""
    return tuple(handler.opt[_KEY] for handler in handlers if _KEY in handler.opt)


def query_of(handler: HTTPRouteHandler) -> list[str]:
    """Return the names of the query's parameters of a described call."""
    operation: Operation = handler.opt[_KEY]
    return [parameter.name for parameter in operation.parameters if parameter.place == "query"]
