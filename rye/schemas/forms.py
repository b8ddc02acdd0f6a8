"""Building blocks of all schemas, made by hand or from a type that msgspec decodes.

Patterns mean the same in Python and in ECMAScript, and only keywords that every validator supports are used.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from rye.items.identity import MAX_SEGMENTS, SEGMENT_PATTERN
from rye.items.kinds import KINDS

Schema = dict[str, Any]


def whole(pattern: str) -> str:
    """Return a pattern that matches the whole text. In some engines ``$`` alone allows a trailing newline."""
    return rf"^(?![\s\S]*\n)(?:{pattern})$"


_SEGMENT = SEGMENT_PATTERN
_KINDS = "|".join(KINDS)
ID_PATTERN = rf"{_SEGMENT}(?:/{_SEGMENT}){{0,{MAX_SEGMENTS - 1}}}"
QUALIFIED_PATTERN = rf"{_SEGMENT}(?:/{_SEGMENT}){{1,{MAX_SEGMENTS - 1}}}"

SEGMENT = whole(_SEGMENT)
ID = whole(ID_PATTERN)
QUALIFIED_ID = whole(QUALIFIED_PATTERN)
ITEM_NAME = whole(rf"(?:(?:{_KINDS}):)?{QUALIFIED_PATTERN}")
"""``[kind:]namespace/category/name``."""
IDENTITY = whole(rf"(?:{_KINDS}):{QUALIFIED_PATTERN}")
SHA256 = whole("[0-9a-f]{64}")
NOT_BLANK = r"\S"

KIND: Schema = {"enum": list(KINDS)}
TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}


def text(description: str, pattern: str | None = None, **more: Any) -> Schema:
    """Return the schema of a string, with a pattern if given."""
    return {"type": "string", "description": description, **({"pattern": pattern} if pattern else {}), **more}


def texts(description: str, item: Schema | None = None, **more: Any) -> Schema:
    """Return the schema of a list; by default its items are non-empty strings."""
    return {"type": "array", "description": description, "items": item or {"type": "string", "minLength": 1}, **more}


def table(description: str, properties: Schema, *, required: tuple[str, ...] = (), closed: bool = True) -> Schema:
    """Return the schema of an object. ``closed``: no other keys are allowed."""
    made: Schema = {"type": "object", "description": description, "properties": properties}
    if required:
        made["required"] = list(required)
    if closed:
        made["additionalProperties"] = False
    return made


def mapping(description: str, values: Schema, keys: str | None = None) -> Schema:
    """Return the schema of an object with arbitrary keys. ``keys``: a pattern that each key must match."""
    made: Schema = {"type": "object", "description": description, "additionalProperties": values}
    if keys is not None:
        made["propertyNames"] = {"pattern": keys}
    return made


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
