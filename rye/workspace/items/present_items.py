"""The names of the items in the spaces. No file is read, so no content is revealed."""

from __future__ import annotations

from collections.abc import Iterator

from rye.errors import RyeError
from rye.items.identity import parse_reference
from rye.project.context import load_manifest
from rye.project.layout import find_project
from rye.project.spaces import Entry, Spaces, entries
from rye.workspace.context import Context


def entries_of(context: Context, kind: str) -> Iterator[Entry]:
    """The items of one kind in all spaces, in lookup order."""
    project = find_project(context.cwd)
    manifest = load_manifest(project) if project is not None else None
    for _, present in entries(context.home, project, manifest.namespace if manifest is not None else None):
        yield from (entry for entry in present if entry.location.kind == kind)


def names_of(context: Context, kind: str) -> dict[str, str]:
    """The names of the items of one kind, sorted, each with the first space that has it."""
    names: dict[str, str] = {}
    for entry in entries_of(context, kind):
        names.setdefault(entry.location.name, entry.space)
    return dict(sorted(names.items()))


def exists(context: Context, reference: str) -> bool:
    """Whether the reference names one or more items here."""
    project = find_project(context.cwd)
    manifest = load_manifest(project) if project is not None else None
    try:
        wanted = parse_reference(reference)
    except RyeError:
        return False
    return bool(Spaces(context.home, project, manifest.namespace if manifest else None).matching(wanted))
