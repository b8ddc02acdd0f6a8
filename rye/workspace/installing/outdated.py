"""The locked items that have newer versions.

The answer depends on rye.toml, rye.lock, the policy in force and the trusted registry state, so it is cached under these.
If none of them changed, each registry is asked only for its head (one conditional request). A policy with a minimum age also
depends on the clock, so under one nothing is cached.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec import Struct

from rye.installation.completeness import reached
from rye.installation.environment import Environment
from rye.installation.silence import NotAsked
from rye.installation.sources import Sources
from rye.installation.updates import Newer
from rye.project.layout import Project
from rye.project.lock import Lock
from rye.project.lock_file import Unlock, require_lock
from rye.project.manifest import Manifest
from rye.project.members import selected
from rye.registry.store.state import encode
from rye.text.json_reading import UNDECODABLE
from rye.workspace.context import Context
from rye.workspace.installing.install_session import retry_when_overtaken
from rye.workspace.installing.outdated_sources import OutdatedSource, outdated_sources
from rye.workspace.installing.project_state import ProjectState, read_state
from rye.workspace.registries.registry_access import judging_environment, project_sources


class OutdatedItem(Struct, frozen=True):
    """One item that has a newer version, or whose locked release may no longer be installed."""

    newer: Newer
    direct: bool
    """Whether rye.toml lists it."""


class Outdated(Struct, frozen=True):
    """What could be newer. Sources stay at their tag or commit until someone changes that, so they are not among the items."""

    items: tuple[OutdatedItem, ...] = ()
    sources: tuple[OutdatedSource, ...] = ()
    not_asked: tuple[NotAsked, ...] = ()
    """Who did not answer: what they have is shown as it was known before, or not at all."""
    without: Literal["requirements", "rows", "needs"] | None = None
    """Why there is nothing to compare: rye.toml lists nothing, rye.lock has nothing of it yet, or the member needs nothing."""


def outdated(context: Context, project: Project, member: str | None = None) -> Outdated:
    """Every such item, by identity, and every such source, by name. ``member``: only what this member of the workspace needs, by
    folder or name. Offline, tags and commits that sources could move to are not known. Raises the error of a registry or
    repository that does not answer if none does, RyeError ``no-lock``, and UsageError ``unknown-name``."""
    return retry_when_overtaken(context, lambda: _outdated(context, project, member))


def _outdated(context: Context, project: Project, member: str | None) -> Outdated:
    state = read_state(context, project)
    manifest = state.manifest
    asking = selected(manifest, member)
    require_lock(project, manifest)
    if not state.lock.items:
        return Outdated(without="rows" if manifest.dependencies else "requirements")
    environment = judging_environment(context, manifest)
    namespaces = sorted({item.identity.namespace for item in state.lock.items})
    with (
        project_sources(context, manifest, project.root, outages="hold", rejudges=True) as sources,
        context.progress("asking the registries"),
    ):
        sources.use_locked(state.lock, Unlock.everything())
        held = sources.held(state.lock.items)
        if len(held) == len(state.lock.items):
            raise next(iter(held.values()))[1]
        timeless = not (held or manifest.sources or environment.policy.minimum_release_age) and not any(
            sources.client(namespace).is_through_a_door for namespace in namespaces
        )
        rows = _remembered(sources, _key(state, environment, sources, namespaces)) if timeless else None
        if rows is None:
            rows = _found(manifest, state.lock, sources, environment)
            if timeless and not sources.not_asked:  # under the currently trusted state
                sources.verdicts.put({_key(state, environment, sources, namespaces): msgspec.json.encode(rows)})
        needed = reached(state.lock, asking) if member is not None else {item.identity for item in state.lock.items}
        pinned = () if context.offline else tuple(outdated_sources(manifest, state.lock, sources, needed))
    direct = {line.id for line in asking.dependencies}
    items = tuple(OutdatedItem(row, row.identity.id in direct) for row in rows if row.identity in needed)
    return Outdated(items, pinned, sources.not_asked, None if needed else "needs")


_UPDATES = "rye.installation.updates"
"""Imported by name, only without a cached answer, because the solver is slow to load."""


def _found(manifest: Manifest, lock: Lock, sources: Sources, environment: Environment) -> list[Newer]:
    rows: list[Newer] = importlib.import_module(_UPDATES).newer_versions(manifest, lock, sources, environment)
    return rows


def _remembered(sources: Sources, key: bytes) -> list[Newer] | None:
    data = sources.verdicts.get([key]).get(key)
    try:
        return None if data is None else msgspec.json.decode(data, type=list[Newer])
    except UNDECODABLE:  # written by another version
        return None


def _key(state: ProjectState, environment: Environment, sources: Sources, namespaces: Iterable[str]) -> bytes:
    """Everything that the answer depends on. A registry's trusted state includes its head, and so all its statements."""
    clients = {name: sources.client(name) for name in namespaces}
    registries = [part for name, client in clients.items() for part in (name, client.address, encode(client.state))]
    judged_by = msgspec.json.encode((environment.policy, environment.provides), order="deterministic")
    return sources.verdicts.key("outdated", state.joined_manifests, state.lock_bytes or b"", judged_by, *registries)
