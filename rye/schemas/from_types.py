"""The schema of a type that msgspec reads, in the words that all validators know."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from rye.schemas.forms import Schema, whole


def of_type(kind: Any) -> Schema:
    """The schema of a Struct with those that it refers to below ``$defs``; it stands at the top itself."""
    made = msgspec.json.schema(kind, schema_hook=lambda part: {"description": "Any value."})
    types = made.pop("$defs", {})
    top = types.pop(made["$ref"].rpartition("/")[2]) if "$ref" in made else made
    document: Schema = {**top, **({"$defs": types} if types else {})}
    return cast("Schema", _plain(document))


def _plain(part: Any) -> Any:
    """Fixed tuples of one type as lists of a length, patterns with ``$`` for ``\\Z``, and no defaults: a file leaves them out."""
    if isinstance(part, list):
        return [_plain(each) for each in part]
    if not isinstance(part, dict):
        return part
    named = ("properties", "$defs")
    made = {
        key: {name: _plain(each) for name, each in value.items()} if key in named else _plain(value)
        for key, value in part.items()
        if key not in ("default", "title")
    }
    if "prefixItems" in made:
        first, *others = made.pop("prefixItems")
        made["items"] = first if all(other == first for other in others) else {"anyOf": [first, *others]}
    pattern = made.get("pattern")
    if isinstance(pattern, str) and pattern.endswith(r"\Z"):
        made["pattern"] = whole(pattern.removesuffix(r"\Z").removeprefix("^"))
    return made
