"""Which locked versions can change when versions are chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from rye.items.identity import Identity


class Unlock(Struct, frozen=True):
    """Created by :meth:`nothing`, :meth:`only` or :meth:`everything`."""

    identities: frozenset[Identity] = frozenset()
    all: bool = False
    exact: tuple[tuple[Identity, str], ...] = ()
    """Items that must get exactly this version; their locked version may change."""

    @classmethod
    def nothing(cls) -> Unlock:
        """Keep every locked version that the manifest allows."""
        return cls()

    @classmethod
    def only(cls, identities: Iterable[Identity]) -> Unlock:
        """Let these items change to another version."""
        return cls(frozenset(identities))

    @classmethod
    def to(cls, versions: Mapping[Identity, str], others: Iterable[Identity] = ()) -> Unlock:
        """Move some items to exactly these versions, and let ``others`` change to any."""
        return cls(frozenset((*versions, *others)), exact=tuple(sorted(versions.items())))

    @classmethod
    def everything(cls) -> Unlock:
        """Let every item change; the locked versions are not preferred."""
        return cls(all=True)

    @property
    def is_nothing(self) -> bool:
        """Whether no locked version may change."""
        return not self.all and not self.identities

    def frees(self, identity: Identity) -> bool:
        """Whether the version of this item may change."""
        return self.all or identity in self.identities
