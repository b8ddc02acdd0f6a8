"""Advisories about installed items that this machine already knows. Nothing is fetched."""

from __future__ import annotations

from collections.abc import Sequence

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.project.layout import Project
from rye.project.lock import LockedItem
from rye.project.manifest import Manifest
from rye.registry.trust.records import find_locked
from rye.workspace.context import Context
from rye.workspace.registries.project_sources import project_sources


def known_advisories(
    context: Context, project: Project, manifest: Manifest, rows: Sequence[LockedItem]
) -> dict[Identity, str]:
    """The worst advisory about each row, in words. Low severity and rows without advisories are omitted.

    A registry without trusted state or index on this machine is skipped; `rye audit` asks it.
    """
    advisories: dict[Identity, str] = {}
    by_namespace: dict[str, list[LockedItem]] = {}
    for row in rows:
        if row.source is not None:  # no registry has advisories for sources
            continue
        by_namespace.setdefault(row.identity.namespace, []).append(row)
    for items in by_namespace.values():
        try:
            with project_sources(context, manifest, project.root, offline=True, asks=False) as sources:
                histories = sources.releases([item.identity for item in items])
        except (RyeError, OSError):
            continue
        for item in items:
            try:
                record = find_locked(histories.get(item.identity), item.identity, item.version, item.sha256)
            except RyeError:
                continue
            for advisory in record.advisories:
                if advisory.severity != "low":
                    advisories.setdefault(
                        item.identity, f"advisory {advisory.number} ({advisory.severity}): {advisory.title}"
                    )
    return advisories
