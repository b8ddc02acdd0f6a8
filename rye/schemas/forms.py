"""The forms that all schemas share: ids, hashes, versions, as patterns that Python and ECMAScript read alike."""

from __future__ import annotations

from typing import Any

from rye.items.identity import MAX_SEGMENTS, SEGMENT_PATTERN
from rye.items.kinds import KINDS

Schema = dict[str, Any]


def whole(pattern: str) -> str:
    """A pattern for the whole text. ``$`` alone would let a line break follow in some readers."""
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
    """A text, of a form where there is one."""
    return {"type": "string", "description": description, **({"pattern": pattern} if pattern else {}), **more}


def texts(description: str, item: Schema | None = None, **more: Any) -> Schema:
    """A list of texts that are not empty."""
    return {"type": "array", "description": description, "items": item or {"type": "string", "minLength": 1}, **more}


def table(description: str, properties: Schema, *, required: tuple[str, ...] = (), closed: bool = True) -> Schema:
    """An object; ``closed``: without other keys."""
    made: Schema = {"type": "object", "description": description, "properties": properties}
    if required:
        made["required"] = list(required)
    if closed:
        made["additionalProperties"] = False
    return made


def mapping(description: str, values: Schema, keys: str | None = None) -> Schema:
    """An object with keys of the author's own; ``keys``: the form of each."""
    made: Schema = {"type": "object", "description": description, "additionalProperties": values}
    if keys is not None:
        made["propertyNames"] = {"pattern": keys}
    return made
