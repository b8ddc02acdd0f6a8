"""Searching the four spaces by words. A word in the id scores higher than one in the description."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rye.errors import RyeError
from rye.installation.shadows import shadow_of
from rye.project.context import load_manifest
from rye.project.item_file import load_item
from rye.project.layout import find_project
from rye.project.lock_file import read_lock
from rye.project.manifest import Manifest
from rye.project.spaces import entries
from rye.workspace.context import Context
from rye.workspace.items.effective_item import effective_entry, installed_problem

if TYPE_CHECKING:
    from rye.project.lock import Lock

_WORD = re.compile(r"\w+")


def score(query: str, identifier: str, description: str) -> float:
    """Between 0 (no match) and 1: every word of the query must begin a word of the id or of the description."""
    words = [word.lower().replace("_", "-") for word in query.split()]
    in_id = [part for piece in identifier.lower().replace("_", "-").split("/") for part in (piece, *piece.split("-"))]
    in_description = [word.lower() for word in _WORD.findall(description)]
    total = 0.0
    for word in words:
        if word in in_id:
            total += 1.0
        elif any(part.startswith(word) for part in in_id) or word in identifier.lower().replace("_", "-"):
            total += 0.8
        elif word in in_description:
            total += 0.5
        elif any(part.startswith(word) for part in in_description):
            total += 0.4
        else:
            return 0.0
    return round(total / len(words), 4) if words else 0.0


def search_local(
    context: Context, query: str, *, kind: str | None = None, namespace: str | None = None
) -> list[dict[str, Any]]:
    """Matches in the project, installed, user and system spaces, best first. Ids hidden by an earlier space are omitted.

    An installed item that was changed is also omitted, since its words might not be its author's. So is one of the project's own
    items with an installed item's id, since the id means the installed one.
    """
    project = find_project(context.cwd)
    installed = read_lock(project).items if project is not None else ()
    locks: dict[Path, Lock] = {}
    manifest = load_manifest(project) if project is not None else Manifest()
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for space, present in entries(context.home, project, manifest.namespace):
        for entry in present:
            if (kind and entry.location.kind != kind) or (namespace and entry.namespace != namespace):
                continue
            try:
                if entry.editable and project is not None:
                    item = effective_entry(context, entry, project, manifest).item
                else:
                    item = load_item(entry.path, kind=entry.location.kind)
            except RyeError:  # one unreadable file must not hide all others; `rye validate` names it
                continue
            if space == "installed" and not entry.editable and installed_problem(context, item, locks) is not None:
                continue
            if project is not None and shadow_of(entry, installed, project.root) is not None:
                continue
            metadata = item.reading.metadata
            description = metadata.description if metadata else ""
            found = score(query, entry.id, description)
            if found > 0:
                row = {
                    "id": entry.id,
                    "kind": entry.location.kind,
                    "version": metadata.version if metadata else None,
                    "description": description,
                    "score": found,
                    "space": space,
                }
                rows.setdefault((entry.location.kind, entry.id), row)
    return sorted(rows.values(), key=lambda row: (-row["score"], row["id"]))
