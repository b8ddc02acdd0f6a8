"""What could be newer: for each locked item its version, the one that the manifest allows, and the newest one there is."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from rye.installation.resolving import Chosen, Environment, resolve
from rye.installation.sources import Sources
from rye.items.identity import Identity
from rye.project.lock import Lock
from rye.project.manifest import Manifest
from rye.registry.records import ItemHistory
from rye.resolution import Unsolvable, Version


class Newer(Struct, frozen=True):
    """One item that is not at its newest version. ``wanted`` None: an update would no longer need it."""

    identity: Identity
    current: str
    wanted: str | None
    latest: str | None


def newer_versions(manifest: Manifest, lock: Lock, sources: Sources, environment: Environment) -> list[Newer]:
    """Every locked item whose ``wanted`` (what ``rye update`` would choose) or ``latest`` differs from what is locked.

    Where an update has no solution, as with a locked release that was yanked and has no successor, ``wanted`` is what is locked.
    """
    try:
        wanted = resolve(manifest, lock, sources, environment, None)
    except Unsolvable:
        wanted = resolve(manifest, lock, sources, environment, frozenset())
    histories = sources.histories(item.identity for item in lock.items)
    found = []
    for item in lock.items:
        latest = latest_version(histories.get(item.identity), environment)
        allowed = _version(wanted, item.identity)
        if (allowed or item.version, latest or item.version) != (item.version, item.version):
            found.append(Newer(item.identity, item.version, allowed, latest))
    return sorted(found, key=lambda newer: newer.identity)


def latest_version(history: ItemHistory | None, environment: Environment) -> str | None:
    """The highest version that nothing excludes, a pre-release only where there is nothing else."""
    records = [record for record in history.records if not environment.exclusions(record)] if history else []
    versions = [Version.parse(record.version) for record in records]
    stable = [version for version in versions if not version.is_prerelease]
    best = max(stable or versions, default=None)
    return str(best) if best is not None else None


def _version(chosen: Mapping[Identity, Chosen], identity: Identity) -> str | None:
    entry = chosen.get(identity)
    return entry.record.version if entry is not None else None
