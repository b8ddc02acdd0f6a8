"""All schemas by name. ``make schemas`` writes them to ``docs/schemas``; ``rye schema NAME`` prints one.

Those of ``rye.lock`` and ``.ai/deploy.lock`` are generated from their types, plus rules that their parsers add. These rules are
not in the schemas: items are unique, all items of a namespace come from the same place, the values for agent
tools are ones that Rye writes, and a source's address or path is safe.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from rye.consent.ask import MOST_RULES
from rye.consent.sorts import lock_keys
from rye.deployment.state import VERSION as STATE_VERSION
from rye.deployment.state import StateFile
from rye.items.kinds import KINDS
from rye.project.lock import LOCK_VERSION, OF_REGISTRIES, file_type
from rye.registry.protocol import wire
from rye.schemas.documents import DOCUMENTS
from rye.schemas.forms import KIND, QUALIFIED_ID, SHA256, Schema, of_type, whole
from rye.schemas.manifest import manifest_schema
from rye.schemas.metadata import (
    agent_schema,
    bundle_schema,
    formula_schema,
    knowledge_schema,
    skill_schema,
    tool_schema,
)
from rye.text.spelling import close_words

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
    rows["dependencies"]["items"]["pattern"] = ":"
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


DRAFT = "http://json-schema.org/draft-07/schema#"
"""The draft that TOML and YAML editors support best; no newer keywords are used."""

_WIRE: Mapping[str, type] = {
    "wire-config": wire.Config,
    "wire-head": wire.Head,
    "wire-index-line": wire.IndexLine,
    "wire-statements-request": wire.StatementsRequest,
    "wire-statements-answer": wire.StatementsAnswer,
    "wire-search-answer": wire.SearchAnswer,
    "wire-similar-answer": wire.SimilarAnswer,
    "wire-blob-answer": wire.BlobAnswer,
    "wire-whoami-answer": wire.WhoamiAnswer,
    "wire-exchange-request": wire.ExchangeRequest,
    "wire-exchange-answer": wire.ExchangeAnswer,
    "wire-device-begun": wire.DeviceBegun,
    "wire-device-token": wire.DeviceToken,
    "wire-stage-request": wire.StageRequest,
    "wire-stages-answer": wire.StagesAnswer,
    "wire-stage-detail": wire.StageDetail,
    "wire-approval-request": wire.ApprovalRequest,
    "wire-rejection-request": wire.RejectionRequest,
    "wire-live-answer": wire.LiveAnswer,
    "wire-ready-answer": wire.ReadyAnswer,
    "wire-error-answer": wire.ErrorAnswer,
}

_SAID_BY = {
    "error": "a command that fails",
    "lock-check": "`rye lock --check`",
    "diff-origin": "`rye diff --origin`",
    "update-origin": "`rye update --origin`",
}
"""Documents whose name is not the command's words joined by ``-``."""


def _command_of(name: str) -> str:
    return _SAID_BY.get(name) or f"`rye {name.replace('-', ' ')}`"


CATALOG: Mapping[str, tuple[str, Callable[[], Schema]]] = {
    "rye-toml": ("rye.toml", manifest_schema),
    "rye-lock": ("rye.lock", lock_schema),
    "deploy-lock": (".ai/deploy.lock", deploy_lock_schema),
    "skill": ("Frontmatter of a SKILL.md", skill_schema),
    "agent": ("Frontmatter of an agent", agent_schema),
    "knowledge": ("Frontmatter or YAML fence of a knowledge entry", knowledge_schema),
    "tool": ("A tool written in YAML", tool_schema),
    "formula": ("A .formula.toml file", formula_schema),
    "bundle": ("A .bundle.toml file", bundle_schema),
    **{
        f"json-{name}": (f"What {_command_of(name)} prints with --json", partial(of_type, kind))
        for name, kind in DOCUMENTS.items()
    },
    **{name: (f"{kind.__name__} of the registry's API", partial(of_type, kind)) for name, kind in _WIRE.items()},
}
"""Name → title, and the function that builds the schema."""


def schema(name: str) -> Schema:
    """Return the schema with this name. Raises KeyError for an unknown name."""
    title, make = CATALOG[name]
    return {"$schema": DRAFT, "title": title, **make()}


def nearest(name: str) -> str | None:
    """Return the known name that is most similar to an unknown one, or None."""
    near = close_words(name, list(CATALOG))
    return near[0] if near else None


def as_text(made: Schema) -> str:
    """Return the schema as the text that is stored and printed."""
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


def write(folder: Path) -> None:
    """Write one file per schema and delete files of schemas that no longer exist."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.json"):
        if path.stem not in CATALOG:
            path.unlink()
    for name in CATALOG:
        (folder / f"{name}.json").write_text(as_text(schema(name)), "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
