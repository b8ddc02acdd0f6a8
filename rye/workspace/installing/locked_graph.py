"""The graph of what is locked, from above and from below."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from rye.installation.graph import Node, chains, locked_item, tree
from rye.items.identity import Identity
from rye.project.context import load_manifest
from rye.project.lock import LockedItem
from rye.project.lock_file import read_lock
from rye.workspace.context import Context
from rye.workspace.projects import project_of


class Reasons(Struct, frozen=True):
    """Why an item is locked: chains from rye.toml, each with its group."""

    item: LockedItem
    chains: tuple[tuple[str, tuple[Identity, ...]], ...]
    more: bool
    """Whether there are more chains than these."""
    versions: Mapping[Identity, str]
    """Of everything that is locked."""


def locked_tree(context: Context, depth: int | None) -> list[Node]:
    """What is locked as a tree, down to ``depth`` levels below what rye.toml asks for; None: all of it."""
    project = project_of(context)
    nodes = tree(read_lock(project), load_manifest(project))
    return [node for node in nodes if depth is None or node.depth <= depth]


def reasons_for(context: Context, name: str) -> Reasons:
    """Why the item ``[KIND:]ID`` is locked. Raises RyeError ``not-installed``."""
    project = project_of(context)
    lock = read_lock(project)
    item = locked_item(lock, name)
    found, more = chains(lock, load_manifest(project), item.identity)
    rows = tuple((group, tuple(chain)) for group, chain in found)
    return Reasons(item, rows, more, {entry.identity: entry.version for entry in lock.items})
