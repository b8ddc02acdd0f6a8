"""Which registries of others this user reads through a registry that serves them.

A registry only offers them. The user agrees: with the registry's pin, in the same question; on a terminal, when the offer
changed; or with ``--upstream FINGERPRINT``. Each is then pinned at its own address below the registry's, and its log is verified
like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rye.errors import RyeError
from rye.registry.protocol.doors import Upstream, door_address
from rye.registry.store.doors import read_doors, write_doors
from rye.registry.store.state import StateStore
from rye.registry.transport.seam import NoAnswer
from rye.workspace.registries.project_registries import tell_upstreams
from rye.workspace.registries.registry_access import open_registry

if TYPE_CHECKING:
    from rye.workspace.context import Context


def agree_on_upstreams(
    context: Context, registry: str, origin: str, offered: Sequence[Upstream], fingerprints: Sequence[str] = ()
) -> None:
    """Agree on what the registry at an address offers now, and pin it. ``fingerprints``: what the user gave; without any, a
    terminal asks about a changed offer, and any other program leaves everything as it was, except what is no longer offered.

    Raises RyeError ``no-such-entry`` for a fingerprint that is not offered.
    """
    agreed = read_doors(context.home.registries).get(registry, [])
    kept = [upstream for upstream in offered if upstream in agreed]
    if fingerprints:
        kept = [upstream for upstream in offered if upstream.fingerprint in fingerprints]
        absent = set(fingerprints) - {upstream.fingerprint for upstream in kept}
        if absent:
            raise RyeError(
                "no-such-entry",
                f"{origin} serves no other registry with the fingerprint {min(absent)}.",
                f"`rye registry add {registry}` on a terminal shows what it serves.",
                what="upstream",
            )
    elif len(kept) < len(offered):
        new = [upstream for upstream in offered if upstream not in agreed]
        if context.interactive:
            tell_upstreams(context, origin, new)
            if context.ask("Read these through it?"):
                kept = list(offered)
        else:
            names = " ".join(f"--upstream {upstream.fingerprint}" for upstream in new)
            context.tell(
                f"{origin} also serves namespaces of {len(new)} other registries, which you did not agree to. To read them, "
                f"compare the fingerprints with those of their operators: rye registry add {registry} {names}"
            )
    store = StateStore(context.home.registries)
    for former in agreed:
        if former.origin not in {upstream.origin for upstream in kept}:
            store.forget_address(door_address(registry, former.origin))
    write_doors(context.home.registries, registry, kept)
    for upstream in kept:
        _pin(context, door_address(registry, upstream.origin), upstream)


def _pin(context: Context, address: str, upstream: Upstream) -> None:
    try:
        with open_registry(context, address, fingerprint=upstream.fingerprint, origin=upstream.origin, named=True):
            pass
    except NoAnswer as error:
        context.warn(f"{upstream.origin} is pinned at its first use: {error.message}")
