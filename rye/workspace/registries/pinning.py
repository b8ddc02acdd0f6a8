"""Pin a registry to an address, or unpin it; and agree on the registries of others that are read through it.

A registry only offers these. The user agrees: with the registry's pin, in the same question; on a terminal, when the offer
changed; or with ``--upstream FINGERPRINT``. Each is then pinned at its own address below the registry's, and its log is verified
like any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError, UsageError
from rye.project.registries import normal_address
from rye.project.user_config import read_settings
from rye.project.user_config_writing import forget_credential, set_setting
from rye.registry.protocol.doors import Upstream, door_address
from rye.registry.store.doors import read_doors, write_doors
from rye.registry.store.state import StateStore
from rye.registry.transport.seam import NoAnswer
from rye.workspace.registries.airgap_access import Airgap, open_from_airgap
from rye.workspace.registries.pinned_registries import PinnedRegistry
from rye.workspace.registries.project_registries import pin_question, tell_upstreams
from rye.workspace.registries.registry_access import open_registry
from rye.workspace.registries.witness_policies import drop_demand, require_no_less, suggested_demand

if TYPE_CHECKING:
    from rye.registry.client import RegistryClient
    from rye.registry.first_contact import PinProposal
    from rye.registry.trust.cosigned import WitnessDemand
    from rye.workspace.context import Context


class PinRequest(Struct, frozen=True, kw_only=True):
    """The registry to pin."""

    address: str
    fingerprint: str | None = None
    """Pin it if its root has this fingerprint; None: ask the user."""
    bundle: Airgap | None = None
    """Read it from this file instead of the network."""
    make_default: bool = False
    witnesses: WitnessDemand | None = None
    """What is demanded of the registry's witnesses from now on; None: what this machine demands already."""
    drops_witnesses: bool = False
    """Stop demanding any."""
    upstreams: tuple[str, ...] = ()
    """The fingerprints of other registries that may be read through this one; without any, the user is asked about all."""


class Unpinned(Struct, frozen=True):
    """The address that was unpinned, and the registry that was pinned there."""

    registry: str
    origin: str


def require_fingerprint(given: str | None) -> None:
    """Refuse a text that cannot be a root's fingerprint, such as part of one. Raises UsageError."""
    if given is not None and re.fullmatch(r"[0-9a-f]{64}", given) is None:
        hint = "A fingerprint has 64 digits, 0-9 and a-f. `rye-registry root show` prints it, and its operator publishes it."
        raise UsageError("usage", f"{given[:80]!r} is not the fingerprint of a registry.", hint)


def pin_registry(context: Context, request: PinRequest) -> PinnedRegistry:
    """Pin a registry: from now on only this registry, with this history, is accepted at this address."""
    where = normal_address(request.address, context.cwd)
    require_fingerprint(request.fingerprint)
    if request.drops_witnesses:
        drop_demand(context, where)
    with _opened(context, request, where) as client:
        if request.witnesses is not None:
            require_no_less(context, client.origin, request.witnesses)  # before the client writes it
        origin, found, size = client.origin, client.state.fingerprint, client.head.checkpoint.size
        suggested = client.suggested_policy
        offered = client.upstreams() if request.bundle is None else None
    if offered is not None:
        agree_on_upstreams(context, where, origin, offered, request.upstreams)
    if request.witnesses is None and not request.drops_witnesses:
        taken = suggested_demand(context, origin, suggested)
        if taken is not None:
            with open_registry(context, where, named=True, witnesses=taken) as client:
                size = client.head.checkpoint.size
    default = read_settings(context.home).get("registry")
    if request.make_default or default is None:
        set_setting(context.home, "registry", where)
        default = where
    return PinnedRegistry(where, origin, found, size, default == where)


def _opened(context: Context, request: PinRequest, where: str) -> AbstractContextManager[RegistryClient]:
    accept_root = _known_or_asked(context)
    if request.bundle is None:
        return open_registry(
            context,
            where,
            fingerprint=request.fingerprint,
            named=True,
            accept_root=accept_root,
            witnesses=request.witnesses,
        )
    return open_from_airgap(context, request.bundle, where, request.fingerprint or accept_root, request.witnesses)


def _known_or_asked(context: Context) -> Callable[[PinProposal], bool]:
    """A function that pins a registry again whose pin was removed, and asks about any other. Its root is the one of the trusted
    history that was kept, which :func:`rye.registry.first_contact.first_contact` requires before it asks."""
    store, asked = StateStore(context.home.registries), pin_question(context)

    def accept(proposal: PinProposal) -> bool:
        return store.load(proposal.origin) is not None or (asked is not None and asked(proposal))

    return accept


def agree_on_upstreams(
    context: Context, registry: str, origin: str, offered: Sequence[Upstream], fingerprints: Sequence[str] = ()
) -> None:
    """Agree on what the registry at an address offers now, and pin it. ``fingerprints``: what the user gave; without any, a
    terminal asks about what is new, and any other program leaves everything as it was, except what is no longer offered. What
    was agreed to before stays in each case: without it, its namespaces would be read from the registry itself.

    Raises RyeError ``no-such-entry`` for a fingerprint that is not offered.
    """
    agreed = read_doors(context.home.registries).get(registry, [])
    known = {(former.origin, former.fingerprint, name) for former in agreed for name in former.namespaces}
    kept = _only(offered, lambda upstream, name: (upstream.origin, upstream.fingerprint, name) in known)
    new = _only(offered, lambda upstream, name: (upstream.origin, upstream.fingerprint, name) not in known)
    if fingerprints:
        absent = set(fingerprints) - {upstream.fingerprint for upstream in offered}
        if absent:
            raise RyeError(
                "no-such-entry",
                f"{origin} serves no other registry with the fingerprint {min(absent)}.",
                f"`rye registry add {registry}` on a terminal shows what it serves.",
                what="upstream",
            )
        given = {upstream.origin for upstream in offered if upstream.fingerprint in fingerprints}
        kept = [one for one in offered if one.origin in given] + [one for one in kept if one.origin not in given]
    elif new:
        if context.interactive:
            tell_upstreams(context, origin, new)
            if context.ask("Read these through it?"):
                kept = list(offered)
        else:
            words = " ".join(f"--upstream {upstream.fingerprint}" for upstream in new)
            context.tell(
                f"{origin} also serves namespaces of other registries ({len(new)}), which you did not agree to. To read them, "
                f"compare the fingerprints with those of their operators, then give these to `rye registry add`: {words}"
            )
    gone = known - {(one.origin, one.fingerprint, name) for one in kept for name in one.namespaces}
    for elsewhere, _, name in sorted(gone):
        context.warn(
            f"{origin} no longer serves {name} of {elsewhere}. From now on, {name} is a namespace of {origin} itself."
        )
    store = StateStore(context.home.registries)
    for former in agreed:
        if former.origin not in {upstream.origin for upstream in kept}:
            store.forget_address(door_address(registry, former.origin))
    write_doors(context.home.registries, registry, kept)
    for upstream in kept:
        _pin(context, door_address(registry, upstream.origin), upstream)


def _only(offered: Sequence[Upstream], wanted: Callable[[Upstream, str], bool]) -> list[Upstream]:
    """The upstreams with the namespaces that are wanted, without those that have none."""
    some = (replace(one, namespaces=[name for name in one.namespaces if wanted(one, name)]) for one in offered)
    return [one for one in some if one.namespaces]


def _pin(context: Context, address: str, upstream: Upstream) -> None:
    try:
        with open_registry(context, address, fingerprint=upstream.fingerprint, origin=upstream.origin, named=True):
            pass
    except NoAnswer as error:
        context.warn(f"{upstream.origin} is pinned at its first use: {error.message}")


def unpin_registry(context: Context, address: str, *, forget_trusted_history: bool = False) -> Unpinned:
    """Unpin an address and forget its token. The registry's trusted state is kept by default.

    Raises RyeError ``not-pinned``.
    """
    where = normal_address(address, context.cwd)
    store = StateStore(context.home.registries)
    origin = store.origin_at(where)
    for upstream in read_doors(context.home.registries).get(where, []):
        store.forget_address(door_address(where, upstream.origin))
    write_doors(context.home.registries, where, ())  # also after a first contact that failed once the user had agreed
    if origin is None:
        raise RyeError(
            "not-pinned", f"No registry is pinned at {where}.", "`rye registry list` lists the pinned registries."
        )
    store.forget_address(where)
    forget_credential(context.home, where)
    if read_settings(context.home).get("registry") == where:
        set_setting(context.home, "registry", None)
    if forget_trusted_history:
        store.forget(origin)
    return Unpinned(where, origin)
