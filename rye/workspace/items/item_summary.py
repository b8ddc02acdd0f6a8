"""What an id means, for a face that shows it: a short description of the item, its file, and the files that may name it.

An item's content is read through :mod:`rye.workspace.items.effective_item`, like everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError
from rye.items.agent_tools import AgentTools
from rye.items.identity import parse_reference
from rye.limits import CONTENT
from rye.permissions.risk import highest, tools_tier
from rye.project.context import MAX_FILES, load_manifest, own_items, read_manifests
from rye.project.item_file import read_item_bytes
from rye.project.layout import MANIFEST, Project, find_project
from rye.project.spaces import entries_of, find
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


def item_places(context: Context, typed: str) -> list[ItemPlace]:
    """Return the project's own items, then those that are installed, whose ``kind:id`` has the typed letters in their order, as
    editors ask for symbols. Editable items have no file in the project and are left out."""
    try:
        project = find_project(context.cwd)
        if project is None:
            return []
        namespace = load_manifest(project).namespace
    except RyeError:
        return []
    letters = re.compile(".*?".join(re.escape(letter) for letter in typed.replace(" ", "")), re.IGNORECASE)
    return [
        ItemPlace(entry.location.kind, entry.id, entry.path)
        for space in ("project", "installed")
        for entry in entries_of(context.home, space, project, namespace)
        if not entry.editable and letters.search(f"{entry.location.kind}:{entry.id}")
    ]


def item_at(context: Context, path: Path) -> ItemPlace | None:
    """Return the item that a file is, one of the project's own or an installed one; None for other files."""
    return next((place for place in item_places(context, "") if place.path == path), None)


def own_texts(context: Context) -> Iterator[tuple[Path, str]]:
    """Yield every file in which this project's people name items: rye.toml, that of each member, their own items and their
    customizations. Unreadable files are left out."""
    project = find_project(context.cwd)
    if project is None:
        return
    for path in (project.root / MANIFEST, *_members(project), *own_items(project.ai), *_customizations(project)):
        try:
            yield path, read_item_bytes(path, CONTENT.item_bytes)[: CONTENT.item_bytes].decode("utf-8")
        except (RyeError, UnicodeDecodeError):
            continue


def _members(project: Project) -> list[Path]:
    try:
        return [project.root / member.file for member in read_manifests(project)[1]]
    except RyeError:  # a manifest that is being written
        return []


def _customizations(project: Project) -> Iterator[Path]:
    for folder in (project.overrides, project.overlays, project.role_directives):
        if not folder.is_symlink():
            files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
            yield from sorted(islice(files, MAX_FILES))
