"""A client without a network: trusted states that follow a simulated registry, using the pure state machine."""

from __future__ import annotations

from rye.registry.trust.trusted import TrustedHead, TrustedState
from tests.registry.simulated_registry import SimulatedRegistry


def pinned(registry: SimulatedRegistry) -> TrustedState:
    state = TrustedState.pin(registry.roots[0].encode().encode(), registry.fingerprint)
    for note in registry.roots[1:]:
        state = state.accept_root(note.encode().encode())
    return state


def follow(state: TrustedState, registry: SimulatedRegistry) -> tuple[TrustedState, TrustedHead]:
    opened = state.open_head(registry.files["head"], registry.now)
    return state.accept_head(opened, {tile: registry.files[tile.path] for tile in opened.tiles_needed()})


def seen(registry: SimulatedRegistry) -> TrustedState:
    """A client's state after it has read the current registry."""
    return follow(pinned(registry), registry)[0]
