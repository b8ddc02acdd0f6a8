"""What a verdict on a release depends on besides its bytes: the pinned root, the newest keyset seen of its namespace,
and the takedowns seen. Any change gives a different basis, so verdicts from the old one no longer count (DESIGN 6.1).

Reading it needs two small files per registry and none of the trust code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from rye.registry.store.pins import PinnedState, pinned_state
from rye.registry.store.withdrawn import read_withdrawn


class Basis(Struct, frozen=True):
    """What verdicts about one registry depend on."""

    fingerprint: str
    """The fingerprint of the root that the user pinned."""
    keysets: Mapping[str, str]
    """Namespace → hash of its newest trusted keyset, which lists the revoked keys."""
    withdrawn: tuple[str, ...] = ()
    """``kind:id version`` of releases that were taken down, sorted."""

    def of(self, namespace: str) -> str:
        """Return one text with everything that counts for a namespace's releases."""
        gone = [release for release in self.withdrawn if _is_of(release, namespace)]
        return "\n".join((self.fingerprint, self.keysets.get(namespace, ""), *gone))


def make_basis(state: PinnedState, withdrawn: Iterable[str]) -> Basis:
    """Return the basis for a pinned state. ``withdrawn``: from :func:`rye.registry.store.withdrawn.read_withdrawn`."""
    return Basis(state.fingerprint, state.keysets, tuple(sorted(withdrawn)))


def read_basis(folder: Path, origin: str) -> Basis | None:
    """Return what this user trusts about a registry; None if it is not pinned. ``folder``: that of the trusted states."""
    state = pinned_state(folder, origin)
    return make_basis(state, read_withdrawn(folder, origin)) if state is not None else None


def _is_of(release: str, namespace: str) -> bool:
    return release == "?" or release.partition(":")[2].startswith(f"{namespace}/")
