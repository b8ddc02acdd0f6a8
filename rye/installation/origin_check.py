"""Checks that a registry is the one that a lock names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rye.errors import RyeError

if TYPE_CHECKING:
    from rye.registry.client import RegistryClient


def expect_origin(client: RegistryClient, origin: str, what: str) -> None:
    """Require the registry that the lock names; no other one is a substitute. Raises RyeError ``other-registry``."""
    if client.origin != origin:
        raise RyeError(
            "other-registry",
            f"{what} is locked to the registry {origin}, but {client.address} is {client.origin}.",
            "Map the namespace to its registry in [registries] of rye.toml, or choose versions again with `rye lock`.",
        )
