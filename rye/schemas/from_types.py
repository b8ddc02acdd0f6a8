"""Schemas of types that msgspec decodes, using only keywords that every validator supports."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from rye.schemas.forms import Schema, whole


def of_type(kind: Any) -> Schema:
    """Return a Struct's schema. The Struct is at the top level and the types that it refers to are in ``$defs``."""
    made = msgspec.json.schema(kind, schema_hook=lambda part: {"description": "Any value."})
    types = made.pop("$defs", {})
    top = types.pop(made["$ref"].rpartition("/")[2]) if "$ref" in made else made
    document: Schema = {**top, **({"$defs": types} if types else {})}
    return cast("Schema", _plain(document))


def _plain(part: Any) -> Any:
    """Turn fixed tuples into lists with a length and ``\\Z`` into ``$``, and drop defaults, which files leave out."""
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
