"""All schemas by name. ``make schemas`` writes them to ``docs/schemas``; ``rye schema NAME`` prints one."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from rye.registry.protocol import wire
from rye.schemas.documents import DOCUMENTS
from rye.schemas.forms import Schema
from rye.schemas.from_types import of_type
from rye.schemas.locks import deploy_lock_schema, lock_schema
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

DRAFT = "http://json-schema.org/draft-07/schema#"
"""The draft that TOML and YAML editors support best; no newer keywords are used."""

_WIRE: Mapping[str, type] = {
    "wire-config": wire.Config,
    "wire-head": wire.Head,
    "wire-index-line": wire.IndexLine,
    "wire-statements-request": wire.StatementsRequest,
    "wire-statements-answer": wire.StatementsAnswer,
    "wire-search-answer": wire.SearchAnswer,
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

_SAID_BY = {"error": "a command that fails", "lock-check": "`rye lock --check`"}
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
