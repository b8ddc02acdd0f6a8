"""What a verified release says of its item, apart from its bytes: rights, hooks and relations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from rye.items.identity import Identity
from rye.items.reading import HookAction


class SignedRelation(Struct, frozen=True):
    """One relation to another item."""

    reference: str
    identity: Identity | None
    """None: not an item but a feature of the environment."""
    range: str = "*"

    @property
    def feature(self) -> str:
        """The reference without its kind, as ``[environment] provides`` may list it."""
        return self.reference.rpartition(":")[2]


class SignedRelease(Struct, frozen=True):
    """The words of one release. Made from its signed note and, for hooks and agent tools, from its verified bytes."""

    capabilities: tuple[str, ...] = ()
    agent_tools: tuple[str, ...] = ()
    hooks: tuple[HookAction, ...] = ()
    depends_on: tuple[SignedRelation, ...] = ()
    requires: tuple[SignedRelation, ...] = ()
    conflicts_with: tuple[SignedRelation, ...] = ()

    def needs(self, provides: frozenset[str]) -> Iterator[tuple[Identity, str]]:
        """The items that it depends on, with their ranges; what the environment provides is not needed as an item."""
        for relation in self.depends_on:
            if relation.identity is not None:
                yield relation.identity, relation.range
        for relation in self.requires:
            if relation.identity is not None and relation.feature not in provides:
                yield relation.identity, relation.range

    def missing_features(self, provides: frozenset[str]) -> list[str]:
        """The features that the environment must provide and does not."""
        wanted = (relation.feature for relation in self.requires if relation.identity is None)
        return sorted({feature for feature in wanted if feature not in provides})


def identities_of(needs: Iterable[tuple[Identity, str]]) -> tuple[str, ...]:
    """As rye.lock writes dependencies: sorted, each once."""
    return tuple(sorted({str(identity) for identity, _ in needs}))
