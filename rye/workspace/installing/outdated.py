"""What could be newer than what is locked."""

from __future__ import annotations

from msgspec import Struct

from rye.installation.updates import Newer, newer_versions
from rye.project.layout import Project
from rye.project.manifest import parse_manifest
from rye.workspace.context import Context
from rye.workspace.installing.project_state import read_state
from rye.workspace.registries.project_sources import judging_environment, project_sources


class OutdatedItem(Struct, frozen=True):
    """One item that has a newer version, or whose locked release may not be installed any more."""

    newer: Newer
    direct: bool
    """Whether rye.toml names it."""


def outdated(context: Context, project: Project) -> list[OutdatedItem]:
    """Every such item, by identity."""
    state = read_state(context, project)
    manifest = parse_manifest(state.manifest_text)
    if not state.lock.items:
        return []
    with (
        project_sources(context, manifest, project.root) as sources,
        context.progress("asking the registries"),
    ):
        rows = newer_versions(manifest, state.lock, sources, judging_environment(context, manifest))
    direct = {line.id for line in manifest.dependencies}
    return [OutdatedItem(row, row.identity.id in direct) for row in rows]
