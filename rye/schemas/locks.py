"""``rye.lock`` and ``.ai/deploy.lock``: schemas generated from their types, plus rules that their parsers add.

These rules are not in the schemas: items are unique, all items of a namespace come from the same place, the values for agent
tools are ones that Rye writes, and a source's address or path is safe.
"""

from __future__ import annotations

from rye.consent.lock_keys import MOST_RULES
from rye.consent.sorts import lock_keys
from rye.deployment.state import VERSION as STATE_VERSION
from rye.deployment.state import StateFile
from rye.items.kinds import KINDS
from rye.project.lock import LOCK_VERSION, OF_REGISTRIES, file_type
from rye.schemas.forms import KIND, QUALIFIED_ID, SHA256, Schema, whole
from rye.schemas.from_types import of_type

_PATH = whole(r"[A-Za-z0-9_][A-Za-z0-9._-]*(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)*")
_COMMIT = whole("[0-9a-f]{40}(?:[0-9a-f]{24})?")


def lock_schema() -> Schema:
    """Return the schema of ``rye.lock``."""
    made = of_type(file_type(lock_keys()))
    types = made["$defs"]
    made["properties"]["version"] = {"const": LOCK_VERSION}
    item = types["LockedItem"]
    rows = item["properties"]
    rows |= {
        "kind": KIND,
        "id": {"type": "string", "pattern": QUALIFIED_ID},
        "sha256": {"type": "string", "pattern": SHA256},
    }
    rows["facts-rules"] |= {"minimum": 1, "maximum": MOST_RULES}
    item["oneOf"] = [
        {"required": list(OF_REGISTRIES), "not": {"required": ["source"]}},
        {"required": ["source"], "not": {"anyOf": [{"required": [key]} for key in OF_REGISTRIES]}},
    ]
    item["allOf"] = [_of_kind(name) for name in KINDS]
    types["LockedFile"]["properties"] |= {
        "path": {"type": "string", "pattern": _PATH},
        "sha256": {"type": "string", "pattern": SHA256},
    }
    types["Run"]["properties"]["sha256"] = {"type": "string", "pattern": SHA256}
    source = types["LockedSource"]
    source["properties"] |= {key: {"type": "string", "pattern": _COMMIT} for key in ("commit", "tree")}
    source["oneOf"] = [
        {
            "required": ["git", "ref", "commit", "tree"],
            "not": {"required": ["path"]},
            "properties": {"editable": {"const": False}},
        },
        {"required": ["path"], "not": {"anyOf": [{"required": [key]} for key in ("git", "ref", "commit", "tree")]}},
    ]
    return made


def _of_kind(name: str) -> Schema:
    """Return the rules for rows of one kind."""
    kind = KINDS[name]
    then: Schema = {"properties": {"suffix": {"enum": list(kind.endings)}}}
    if not kind.nested:
        then["properties"]["id"] = {"pattern": r"^[^/]*/[^/]*$"}
    if kind.main_file is None:
        then["properties"]["attached"] = {"maxItems": 0}
    return {"if": {"properties": {"kind": {"const": name}}, "required": ["kind"]}, "then": then}


def deploy_lock_schema() -> Schema:
    """Return the schema of ``.ai/deploy.lock``."""
    made = of_type(StateFile)
    made["properties"]["version"] = {"const": STATE_VERSION}
    made["$defs"]["FileRow"]["properties"] |= {
        "sha256": {"type": "string", "pattern": SHA256},
        "mode": {"enum": ["0644", "0755"]},
    }
    return made
