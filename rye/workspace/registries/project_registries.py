"""The registries that a project uses, according to settings, manifest and pins. No registry is contacted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from rye.project.lock import Lock, LockedItem
from rye.project.manifest import Manifest
from rye.project.registries import Registries, registries
from rye.project.user_config import read_settings
from rye.registry.store.pins import read_addresses

if TYPE_CHECKING:
    from rye.workspace.context import Context


def project_registries(context: Context, manifest: Manifest, root: Path) -> Registries:
    """The registry of each namespace in this project."""
    return registries(context.registry, manifest, read_settings(context.home).get("registry"), root)


class Elsewhere(Struct, frozen=True):
    """A locked item whose namespace is now mapped to another registry."""

    item: LockedItem
    address: str
    """The address of the registry that now serves its namespace."""
    origin: str
    """The origin pinned at that address."""


def locked_elsewhere(context: Context, manifest: Manifest, lock: Lock, root: Path) -> list[Elsewhere]:
    """The items locked to a different registry than their namespace is mapped to, according to the pins.

    Raises OSError and MsgspecError where the pins cannot be read.
    """
    where = project_registries(context, manifest, root)
    pinned = read_addresses(context.home.registries)
    rows = []
    for item in lock.items:
        source = manifest.sources.get(item.identity.namespace)
        if source is not None:
            if source.origin != item.registry:
                rows.append(Elsewhere(item, source.origin, source.origin))
            continue
        if item.source is not None:
            rows.append(Elsewhere(item, "no source with that name", "none"))
            continue
        address = where.by_namespace.get(item.identity.namespace) or where.default or ""
        origin = pinned.get(address, item.registry)
        if origin != item.registry:
            rows.append(Elsewhere(item, address, origin))
    return rows


def same_registries(context: Context, manifest: Manifest, lock: Lock, root: Path) -> bool:
    """Whether every namespace is still mapped to the registry that its items are locked to, according to the pins."""
    try:
        return not locked_elsewhere(context, manifest, lock, root)
    except (OSError, msgspec.MsgspecError):  # opening the registries reports the error
        return False
