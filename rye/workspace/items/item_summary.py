"""What an id means, for a face that shows it: a short description of the item, its file, and the files that may name it.

An item's content is read through :mod:`rye.workspace.items.effective_item`, like everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError
from rye.items.agent_tools import AgentTools
from rye.items.identity import parse_reference
from rye.limits import CONTENT
from rye.permissions.risk import highest, tools_tier
from rye.project.context import load_manifest, own_items
from rye.project.layout import MANIFEST, find_project
from rye.project.spaces import find
from rye.storage.safe_files import read_bytes
from rye.workspace.context import Context
from rye.workspace.items.effective_item import effective_entry


class Described(Struct, frozen=True, kw_only=True):
    """A description of an item. ``problem``: why its content must not be shown; then only the requested id is known."""

    reference: str
    kind: str | None = None
    id: str | None = None
    version: str | None = None
    description: str | None = None
    space: str | None = None
    signer: str | None = None
    """Fingerprint of the release's signer; None if it is not installed."""
    tier: str | None = None
    capabilities: tuple[str, ...] = ()
    problem: str | None = None
    hint: str | None = None


def describe(context: Context, reference: str) -> Described:
    """Describe the item that an id names. An installed item is verified first, as for `rye show`; a failure is the ``problem``.

    The id is never read as a file path.
    """
    try:
        project = find_project(context.cwd)
        if project is None:
            return Described(reference=reference, problem="No project found.", hint="Create one with `rye init`.")
        manifest = load_manifest(project)
        entry = find(context.home, parse_reference(reference), project, manifest.namespace)
        found = effective_entry(context, entry, project, manifest)
    except RyeError as error:
        return Described(reference=reference, problem=error.message, hint=error.hint)
    metadata = found.item.reading.metadata
    return Described(
        reference=reference,
        kind=found.item.kind.name,
        id=found.id,
        version=found.version(),
        description=metadata.description if metadata is not None else None,
        space=found.entry.space if found.entry is not None else None,
        signer=found.installed.row.signer if found.installed is not None else None,
        tier=_tier(metadata.capabilities, metadata.agent_tools) if metadata is not None else None,
        capabilities=metadata.capabilities if metadata is not None else (),
    )


def _tier(capabilities: tuple[str, ...], tools: AgentTools | None) -> str | None:
    found = [highest(capabilities)] if capabilities else []
    worst = tools_tier(tools)
    return str(max([*found, worst] if worst is not None else found)) if found or worst is not None else None


class ItemPlace(Struct, frozen=True):
    """An item and its file."""

    kind: str
    id: str
    path: Path


def item_place(context: Context, reference: str) -> ItemPlace | None:
    """Return the item that an id names and its file, of whatever space; None if there is none, or if its folder is editable:
    then it has no file in the project. The id is never read as a file path."""
    try:
        project = find_project(context.cwd)
        if project is None:
            return None
        entry = find(context.home, parse_reference(reference), project, load_manifest(project).namespace)
    except RyeError:
        return None
    return None if entry.editable else ItemPlace(entry.location.kind, entry.id, entry.path)


def own_texts(context: Context) -> Iterator[tuple[Path, str]]:
    """Yield every file in which this project's people name items: their own items and rye.toml. Unreadable files are left out."""
    project = find_project(context.cwd)
    if project is None:
        return
    for path in (project.root / MANIFEST, *own_items(project.ai)):
        try:
            yield path, read_bytes(path, CONTENT.item_bytes)[: CONTENT.item_bytes].decode("utf-8")
        except (RyeError, UnicodeDecodeError):
            continue
