"""Which registries a project uses, as far as settings, manifest and pins tell: no registry is asked."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from rye.installation.verified_rows import TrustBasis
from rye.project.lock import Lock, LockedItem
from rye.project.manifest import Manifest
from rye.project.registries import Registries, registries
from rye.project.user_config import read_settings
from rye.registry.store.basis import read_basis
from rye.registry.store.pins import read_addresses
from rye.storage.folders import data_dir
from rye.storage.verdicts import VERDICTS, Verdicts
from rye.workspace.context import Context
from rye.workspace.trusting.source_basis import is_source, source_basis, source_grounds


def project_registries(context: Context, manifest: Manifest, root: Path) -> Registries:
    """Which registry answers for which namespace here."""
    return registries(context.registry, manifest, read_settings().get("registry"), root)


def user_basis() -> TrustBasis:
    """Origin and namespace → what this user's rye judges its releases by; each registry's files are read once."""
    folder = data_dir() / "registries"
    read = cache(lambda origin: read_basis(folder, origin))
    read_source_basis = cache(source_basis)

    def basis(origin: str, namespace: str) -> str | None:
        if is_source(origin):
            return source_grounds(origin, read_source_basis())
        found = read(origin)
        return found.of(namespace) if found is not None else None

    return basis


def user_verdicts() -> Verdicts:
    """What this user's earlier runs verified."""
    return Verdicts(data_dir() / VERDICTS)


def whole_lock_key(verdicts: Verdicts, lock: bytes, manifest_text: str, items: Iterable[LockedItem]) -> bytes:
    """Names a lock under a manifest and what its releases are judged by: one look-up where nothing changed since all its rows
    were verified and it was found complete."""
    basis = user_basis()
    names = {(item.registry, item.id.partition("/")[0]) for item in items}
    grounds = [f"{origin} {namespace} {basis(origin, namespace)}" for origin, namespace in sorted(names)]
    return verdicts.key("whole lock", lock, manifest_text, *grounds)


class Elsewhere(Struct, frozen=True):
    """A locked item whose namespace is now mapped to another registry."""

    item: LockedItem
    address: str
    """Of the registry that is asked for its namespace now."""
    origin: str
    """What is pinned at that address."""


def locked_elsewhere(context: Context, manifest: Manifest, lock: Lock, root: Path) -> list[Elsewhere]:
    """The items that are locked to another registry than their namespace is mapped to, as far as the pins tell.

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
            found.append(Elsewhere(item, "no source of that name", "none"))
            continue
        address = where.by_namespace.get(item.identity.namespace) or where.default or ""
        origin = pinned.get(address, item.registry)
        if origin != item.registry:
            found.append(Elsewhere(item, address, origin))
    return found


def same_registries(context: Context, manifest: Manifest, lock: Lock, root: Path) -> bool:
    """Whether every namespace is still mapped to the registry that its items are locked to, as far as the pins tell."""
    try:
        return not locked_elsewhere(context, manifest, lock, root)
    except (OSError, msgspec.MsgspecError):  # asking the registries says what is wrong
        return False
