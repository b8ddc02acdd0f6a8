"""The registries that a project uses, according to settings, manifest and pins. No registry is contacted."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from rye.project.declared_sources import is_source_origin
from rye.project.lock import Lock, LockedItem
from rye.project.manifest import Manifest
from rye.project.registries import Registries, registries
from rye.project.user_config import read_settings
from rye.registry.store.basis import read_basis
from rye.registry.store.pins import read_addresses
from rye.storage.folders import data_dir
from rye.storage.verdicts import VERDICTS, Verdicts
from rye.verified.rows import TrustBasis
from rye.workspace.trusting.source_basis import source_basis, source_grounds

if TYPE_CHECKING:
    from rye.workspace.context import Context


def project_registries(context: Context, manifest: Manifest, root: Path) -> Registries:
    """The registry of each namespace in this project."""
    return registries(context.registry, manifest, read_settings().get("registry"), root)


def user_basis() -> TrustBasis:
    """A function from origin and namespace to the basis on which releases are checked. Each registry's files are read once."""
    folder = data_dir() / "registries"
    read = cache(lambda origin: read_basis(folder, origin))
    read_source_basis = cache(source_basis)

    def basis(origin: str, namespace: str) -> str | None:
        if is_source_origin(origin):
            return source_grounds(origin, read_source_basis())
        found = read(origin)
        return found.of(namespace) if found is not None else None

    return basis


def user_verdicts() -> Verdicts:
    """The results of this user's earlier verifications."""
    return Verdicts(data_dir() / VERDICTS)


def whole_lock_key(verdicts: Verdicts, lock: bytes, manifest_text: str, items: Iterable[LockedItem]) -> bytes:
    """A key for a lock, its manifest and the basis of its checks: one look-up shows that the complete lock was verified and
    nothing changed since."""
    basis = user_basis()
    names = {(item.registry, item.id.partition("/")[0]) for item in items}
    grounds = [f"{origin} {namespace} {basis(origin, namespace)}" for origin, namespace in sorted(names)]
    return verdicts.key("whole lock", lock, manifest_text, *grounds)


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
    pinned = read_addresses(data_dir() / "registries")
    found = []
    for item in lock.items:
        source = manifest.sources.get(item.identity.namespace)
        if source is not None:
            if source.origin != item.registry:
                found.append(Elsewhere(item, source.origin, source.origin))
            continue
        if item.source is not None:
            found.append(Elsewhere(item, "no source with that name", "none"))
            continue
        address = where.by_namespace.get(item.identity.namespace) or where.default or ""
        origin = pinned.get(address, item.registry)
        if origin != item.registry:
            found.append(Elsewhere(item, address, origin))
    return found


def same_registries(context: Context, manifest: Manifest, lock: Lock, root: Path) -> bool:
    """Whether every namespace is still mapped to the registry that its items are locked to, according to the pins."""
    try:
        return not locked_elsewhere(context, manifest, lock, root)
    except (OSError, msgspec.MsgspecError):  # opening the registries reports the error
        return False
