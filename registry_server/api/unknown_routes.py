"""The hint for a request below ``/api/`` that is no call: the call that was probably meant, and where all are listed.

Anyone can send such a request, so only segments of about the right length are compared, letter by letter.
"""

from __future__ import annotations

from collections.abc import Iterable

from registry_server.api.operations import Operation
from rye.text.spelling import near_miss

_LISTED = "GET /openapi.json describes every call."


def hint_for_path(operations: Iterable[Operation], method: str, path: str) -> str | None:
    """The hint for a path where there is nothing; None outside the API."""
    if not path.startswith("/api/"):
        return None
    near = [operation for operation in operations if _is_near(operation, path)]
    chosen = next((operation for operation in near if operation.method == method.lower()), near[0] if near else None)
    return _LISTED if chosen is None else f"Did you mean {chosen.method.upper()} {chosen.path}? {_LISTED}"


def hint_for_method(operations: Iterable[Operation], path: str) -> str | None:
    """The hint for a path that has calls with other methods; None outside the API."""
    methods = sorted({operation.method.upper() for operation in operations if _is_at(operation, path)})
    return f"Here: {', '.join(methods)}. {_LISTED}" if methods and path.startswith("/api/") else None


def allowed_methods(routes: Iterable[tuple[str, Iterable[str]]], path: str) -> list[str]:
    """The methods at a path (RFC 9110 15.5.6), in order. ``routes``: templates such as ``/a/{b:str}``, with their methods.

    Of the templates that match, the one with the fewest parameters counts, as for the request itself.
    """
    matching = [(template.count("{"), methods) for template, methods in routes if _fits(template, path)]
    return sorted(min(matching, key=lambda match: match[0])[1]) if matching else []


def _fits(template: str, path: str) -> bool:
    parts, given = template.split("/"), path.split("/")
    if parts[-1].endswith(":path}"):
        return False  # the route of static files, which is everywhere
    return len(parts) == len(given) and all(
        part == own or (own != "" and part.startswith("{")) for part, own in zip(parts, given, strict=True)
    )


def _is_at(operation: Operation, path: str) -> bool:
    parts, given = operation.path.split("/"), path.split("/")
    return len(parts) == len(given) and all(
        part == own or part.startswith("{") for part, own in zip(parts, given, strict=True)
    )


def _is_near(operation: Operation, path: str) -> bool:
    parts, given = operation.path.split("/"), path.rstrip("/").split("/")
    return len(parts) == len(given) and all(
        part == own or part.startswith("{") or near_miss(own, (part,)) is not None
        for part, own in zip(parts, given, strict=True)
    )
