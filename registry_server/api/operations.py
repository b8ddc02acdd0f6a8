"""One call of the API as :mod:`registry_server.api.openapi` describes it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Parameter(Struct, frozen=True):
    """A parameter of a call."""

    name: str
    place: str
    """``path`` or ``query``."""
    words: str
    schema: dict[str, Any]
    required: bool = False


class Operation(Struct, frozen=True, kw_only=True):
    """One call of the API."""

    name: str
    method: str
    path: str
    words: str
    answers: dict[int, Any]
    """Status → the type of the answer; None: text; ``bytes``: anything."""
    errors: tuple[int, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    """The type of the request's body; ``bytes``: anything."""
    needs_token: bool = False
