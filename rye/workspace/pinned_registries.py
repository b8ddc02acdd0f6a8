"""The registries that this user pinned: which they are, what is trusted of each, and how one comes and goes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.project.registries import normal_address
from rye.project.user_config import read_settings
from rye.project.user_config_writing import forget_credential, set_setting
from rye.registry.client import RegistryClient
from rye.registry.protocol.lines import write_key, write_time
from rye.registry.store.state import StateStore
from rye.storage.folders import data_dir
from rye.workspace.airgap_access import Airgap, open_from_airgap
from rye.workspace.pin_question import pin_question
from rye.workspace.registry_access import configured, open_registry

if TYPE_CHECKING:
    from rye.workspace.context import Context


class PinRequest(Struct, frozen=True):
    address: str
    fingerprint: str | None = None
    """Pin it when its root has this fingerprint; None: a person is asked."""
    bundle: Airgap | None = None
    """Read it from this file instead of the network."""
    make_default: bool = False


class PinnedRegistry(Struct, frozen=True):
    """What is known of a pinned registry; None for what was never read."""

    registry: str
    """Its address."""
    origin: str
    fingerprint: str | None
    size: int | None
    """Entries of the largest log that was seen of it."""
    default: bool
    """Whether it is used when nothing else names a registry."""


class Unpinned(Struct, frozen=True):
    registry: str
    origin: str


class TrustedState(Struct, frozen=True):
    """What is trusted of a registry now: its root, its owners, its head. Keys, times and hashes are text."""

    registry: str
    origin: str
    fingerprint: str
    root: int
    root_expires: str
    owners: tuple[str, ...]
    threshold: int
    log_keys: tuple[str, ...]
    size: int
    root_hash: str
    snapshot_time: str


def pin_registry(context: Context, request: PinRequest) -> PinnedRegistry:
    """From now on only this registry, with this history, is accepted at this address."""
    where = normal_address(request.address, context.cwd)
    with _opened(context, request, where) as client:
        origin, found, size = client.origin, client.state.fingerprint, client.head.checkpoint.size
    default = read_settings().get("registry")
    if request.make_default or default is None:
        set_setting("registry", where)
        default = where
    return PinnedRegistry(where, origin, found, size, default == where)


def _opened(context: Context, request: PinRequest, where: str) -> AbstractContextManager[RegistryClient]:
    if request.bundle is None:
        return open_registry(context, where, fingerprint=request.fingerprint)
    return open_from_airgap(context, request.bundle, where, request.fingerprint or pin_question(context))


def unpin_registry(context: Context, address: str, *, forget_trusted_history: bool = False) -> Unpinned:
    """Unpin an address and forget its token. What is trusted of the registry itself stays, unless told otherwise.

    Raises RyeError ``not-pinned``.
    """
    where = normal_address(address, context.cwd)
    store = _store()
    origin = store.origin_at(where)
    if origin is None:
        raise RyeError("not-pinned", f"No registry is pinned at {where}.", "`rye registry list` shows those there are.")
    store.forget_address(where)
    forget_credential(where)
    if read_settings().get("registry") == where:
        set_setting("registry", None)
    if forget_trusted_history:
        store.forget(origin)
    return Unpinned(where, origin)


def pinned_registries() -> tuple[PinnedRegistry, ...]:
    """All pinned registries, sorted by address. Nothing is fetched."""
    store = _store()
    default = read_settings().get("registry")
    rows = []
    for address, origin in sorted(store.addresses().items()):
        state = store.load(origin)
        checkpoint = state.checkpoint if state else None
        fingerprint = state.fingerprint if state else None
        size = checkpoint.size if checkpoint else None
        rows.append(PinnedRegistry(address, origin, fingerprint, size, address == default))
    return tuple(rows)


def trusted_state(context: Context, address: str | None) -> TrustedState:
    """What is trusted of a registry after its head was fetched; None: of the one that flag, project or user name."""
    where = normal_address(address, context.cwd) if address else configured(context).main()
    with open_registry(context, where) as client:
        root, head = client.state.root, client.head
        return TrustedState(
            registry=where,
            origin=client.origin,
            fingerprint=client.state.fingerprint,
            root=root.number,
            root_expires=write_time(root.expires),
            owners=tuple(write_key(key) for key in root.owners),
            threshold=root.threshold,
            log_keys=tuple(write_key(key) for key in root.logs),
            size=head.checkpoint.size,
            root_hash=head.checkpoint.root_hash.hex(),
            snapshot_time=write_time(head.snapshot.time),
        )


def _store() -> StateStore:
    return StateStore(data_dir() / "registries")
