"""The graph of locked items, from dependents down and from dependencies up."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from rye.installation.completeness import Node, chains, locked_item, tree
from rye.items.identity import Identity
from rye.project.context import load_manifest, require_project
from rye.project.layout import Project
from rye.project.lock import Lock, LockedItem
from rye.project.lock_file import read_lock
from rye.project.manifest import Requested
from rye.project.members import selected
from rye.storage.home import Home
from rye.workspace.context import Context
from rye.workspace.installing.verified_rows import verified_here, with_found_signers
from rye.workspace.registries.project_registries import refuse_other_pins


class Reasons(Struct, frozen=True):
    """Why an item is locked: chains from a line of rye.toml, or of a member's."""

    item: LockedItem
    chains: tuple[tuple[Requested, tuple[Identity, ...]], ...]
    more: bool
    """Whether there are more chains than these."""
    versions: Mapping[Identity, str]
    """The versions of all locked items."""
    unverified: frozenset[Identity] = frozenset()
    """Rows that this user's rye has not verified."""


class LockedTree(Struct, frozen=True):
    """The locked items as a tree."""

    nodes: tuple[Node, ...]
    unverified: frozenset[Identity] = frozenset()
    """The rows that this user's rye has not verified."""


def locked_tree(context: Context, depth: int | None, member: str | None = None) -> LockedTree:
    """The locked items as a tree, down to ``depth`` levels below rye.toml's items, or all. Fetches nothing.

    ``member``: show only what this member of the workspace needs; None means all members. Raises UsageError ``unknown-name``.
    """
    refuse_other_pins(context)
    project = require_project(context.cwd)
    lock = _read(context.home, project)
    nodes = tree(lock, selected(load_manifest(project), member))
    shown = tuple(node for node in nodes if depth is None or node.depth <= depth)
    return LockedTree(shown, _unverified(context.home, project, lock))


def _read(home: Home, project: Project) -> Lock:
    lock = read_lock(project)
    return Lock(lock.wanted, with_found_signers(home, lock.items))


def _unverified(home: Home, project: Project, lock: Lock) -> frozenset[Identity]:
    verified = verified_here(home, project, lock.items)
    return frozenset(item.identity for item in lock.items if item.identity not in verified)


def reasons_for(context: Context, name: str, member: str | None = None) -> Reasons:
    """Why the item ``[KIND:]ID`` is locked. ``member``: only why this member needs it. Raises RyeError ``not-installed``,
    UsageError ``unknown-name``."""
    refuse_other_pins(context)
    project = require_project(context.cwd)
    lock = _read(context.home, project)
    item = locked_item(lock, name)
    found, more = chains(lock, selected(load_manifest(project), member), item.identity)
    rows = tuple((line, tuple(chain)) for line, chain in found)
    versions = {entry.identity: entry.version for entry in lock.items}
    return Reasons(item, rows, more, versions, _unverified(context.home, project, lock))


def signing(item: LockedItem | None) -> dict[str, object]:
    """The fields ``signer`` and ``source`` of the stable JSON."""
    source = item.source if item is not None else None
    return {
        "signer": item.signed_by if item is not None else None,
        "source": source.as_json() if source is not None else None,
    }
