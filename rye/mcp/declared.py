"""How the tools are declared to clients: titles, schemas, and hints about what a call does (docs/explanation/runtime.md).

Hosts ask a person less often about a tool that only reads, so a hint says no more than what is enforced: a tool of its own under
``--expand`` only reads if it neither needs nor has a grant, because its sandbox then has no network and nothing to write.
Those tools have names of their own: ``acme/fs/write`` becomes ``acme__fs__write``, unique, at most 64 characters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256

import mcp_types as types

from rye.items.needs import NOTHING, Needs, joined
from rye.limits import RUNTIME
from rye.runtime.calls import TOOLS, Tool, cut
from rye.runtime.effects import UsableItem
from rye.runtime.results import result_schema

_READS = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
_KNOWN = {
    "rye_search": ("Search items", _READS),
    "rye_load": ("Read an item", _READS),
    "rye_execute": (
        "Run a tool or start a directive",
        types.ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True),
    ),
    "rye_sign": (
        "Sign an item of this project",
        types.ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
        ),
    ),
    "rye_return": (
        "Return the outputs",
        types.ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
        ),
    ),
}
_READING = ("rye_search", "rye_load")
_DESCRIPTION_CHARACTERS = 1000
_HASH = 8
_HASHED = re.compile(r"_[0-9a-f]{8,}\Z")
"""What the end of a name with a hash looks like."""


def declared_tools(*, reading_only: bool) -> list[types.Tool]:
    """Return the five tools, or the two that only read."""
    return [_declared(tool) for tool in TOOLS.values() if tool.name in _READING or not reading_only]


def _declared(tool: Tool) -> types.Tool:
    title, annotations = _KNOWN[tool.name]
    return types.Tool(
        name=tool.name,
        title=title,
        description=tool.description,
        input_schema=tool.schema,
        output_schema=result_schema(tool.name),
        annotations=annotations.model_copy(update={"title": title}),
    )


def declared_single(name: str, item: UsableItem, written: Needs) -> types.Tool:
    """Return the declaration of one executable tool under a name of its own. A call answers as ``rye_execute`` does.

    ``written``: what rye.toml grants it, agreed to or not."""
    needs = joined(item.needs, written)
    title = item.id.rpartition("/")[2]
    annotations = types.ToolAnnotations(
        title=title,
        read_only_hint=needs == NOTHING,
        destructive_hint=bool(needs.write or needs.network or needs.env),
        open_world_hint=bool(needs.network),
    )
    return types.Tool(
        name=name,
        title=title,
        description=cut(f"{item.description} (tool:{item.id}, runs in a sandbox)".strip(), _DESCRIPTION_CHARACTERS),
        input_schema={"type": "object", "properties": {}, "additionalProperties": True},
        output_schema=result_schema("rye_execute"),
        annotations=annotations,
    )


def tool_names(ids: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Return the ids by name. A name ends in a hash of the id if it is too long, in ``taken``, would stand for two ids
    (``a__b/c`` and ``a/b/c``), whether or not both are there, or ends like one with a hash. So nobody takes such a name from
    another tool, also not while a client remembers it."""
    wanted = {item_id: item_id.replace("/", "__") for item_id in sorted(set(ids))}
    often = Counter([*wanted.values(), *taken])
    most = RUNTIME.tool_name_characters
    names: dict[str, str] = {}
    for item_id, plain in wanted.items():
        name, digest, length = plain, sha256(item_id.encode()).hexdigest(), _HASH
        is_clear = often[plain] == 1 and plain.replace("__", "/") == item_id
        is_hashed = len(plain) > most or not is_clear or _HASHED.search(plain) is not None
        while is_hashed and (name == plain or name in names):
            name = f"{plain[: most - length - 1]}_{digest[:length]}"
            length += 1
        names[name] = item_id
    return names
