"""Verified copies of registries: a whole registry as a folder, or one lock's items as an air-gap file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.project.context import require_project
from rye.project.lock import Lock
from rye.project.lock_file import read_lock
from rye.registry import mirroring
from rye.registry.airgap import WantedPart, write_airgap
from rye.registry.mirroring import Mirrored
from rye.registry.store.state import StateStore
from rye.registry.transport.factory import open_transport
from rye.verified.require import refuse_distrusted
from rye.workspace.registries.registry_access import configured, open_registry, reading_token

if TYPE_CHECKING:
    from rye.registry.transport.seam import Transport
    from rye.workspace.context import Context


class MirrorOutcome(Struct, frozen=True):
    """A finished copy of a registry."""

    registry: str
    """The address that was copied."""
    origin: str
    done: Mirrored


def mirror_registry(context: Context, target: Path) -> MirrorOutcome:
    """Copy the whole registry to a folder. Valid files already there are kept. Raises RyeError ``offline`` and others."""
    _refuse_offline(context)
    address = configured(context).main()
    with open_registry(context, address) as client:
        state = client.as_copied
    transport = open_transport(address, mirroring.transport_limits(), token=reading_token(context, address))
    try:
        with context.progress("mirroring") as advance:
            done = mirroring.mirror(transport, state, target, advance)
    finally:
        transport.close()
    return MirrorOutcome(address, state.origin, done)


class AirgapOutcome(Struct, frozen=True):
    """A bundle file: its size and contents."""

    size: int
    """In bytes."""
    items: int
    origins: tuple[str, ...]


def write_airgap_file(context: Context, file: Path) -> AirgapOutcome:
    """Write what the project's lock needs to one file.

    Raises RyeError ``offline``, ``empty-lock``, ``other-registry``, ``signer-revoked``.
    """
    _refuse_offline(context)
    project = require_project(context.cwd)
    lock = read_lock(project)
    if not lock.items:
        raise RyeError(
            "empty-lock", "rye.lock has no items to bundle.", "Add an item with `rye add`, or run `rye lock`."
        )
    from_sources = sorted({item.registry for item in lock.items if item.source is not None})
    if from_sources:
        lock = Lock(lock.wanted, tuple(item for item in lock.items if item.source is None))
        context.warn(
            f"The file contains only items from registries. It does not contain items from {', '.join(from_sources)}.",
            "The machine that installs from the file needs access to these repositories or folders, or a cached copy.",
        )
    refuse_distrusted(context.home, lock.items)
    store = StateStore(context.home.registries)
    wanted = _wanted(context, lock)

    def open_one(address: str) -> Transport:
        return open_transport(address, token=reading_token(context, address))

    with context.progress("bundling", len(wanted)) as advance:
        size = write_airgap(file, project.lock_path.read_bytes(), wanted, open_one, store, advance)
    return AirgapOutcome(size, len(lock.items), tuple(part.origin for part in wanted))


def _refuse_offline(context: Context) -> None:
    if context.offline:
        raise RyeError("offline", "Copying a registry needs the network, and --offline forbids it.", "Omit --offline.")


def _wanted(context: Context, lock: Lock) -> list[WantedPart]:
    """The items to take from each registry. Each registry is contacted once, to pin it and check its origin against the lock."""
    where = configured(context)
    parts = []
    for origin in sorted({item.registry for item in lock.items}):
        items = [item for item in lock.items if item.registry == origin]
        addresses = {where.of(item.identity.namespace) for item in items}
        if len(addresses) > 1:
            raise RyeError(
                "other-registry",
                f"The items of {origin} are mapped to several addresses: {', '.join(sorted(addresses))}.",
                "Map all its namespaces to one address in [registries] of rye.toml.",
            )
        address = addresses.pop()
        with open_registry(context, address) as client:
            if client.origin != origin:
                raise RyeError(
                    "other-registry",
                    f"{items[0].identity} is locked to the registry {origin}, but {address} is {client.origin}.",
                    "Map the namespace to its registry in [registries] of rye.toml.",
                )
        parts.append(WantedPart(address, origin, tuple((item.identity, item.version) for item in items)))
    return parts
