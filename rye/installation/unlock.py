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
    """Items that must have exactly this version; each may move."""

    @classmethod
    def nothing(cls) -> Unlock:
        """Every locked version stays where the manifest allows it."""
        return cls()

    @classmethod
    def only(cls, identities: Iterable[Identity]) -> Unlock:
        """These items may move to another version."""
        return cls(frozenset(identities))

    @classmethod
    def to(cls, versions: Mapping[Identity, str], others: Iterable[Identity] = ()) -> Unlock:
        """Some items move to exactly these versions, ``others`` to any."""
        return cls(frozenset((*versions, *others)), exact=tuple(sorted(versions.items())))

    @classmethod
    def everything(cls) -> Unlock:
        """Every item may move; the lock is not a preference."""
        return cls(all=True)

    @property
    def is_nothing(self) -> bool:
        """Whether no locked version may change."""
        return not self.all and not self.identities

    def frees(self, identity: Identity) -> bool:
        """Whether this item may move."""
        return self.all or identity in self.identities
