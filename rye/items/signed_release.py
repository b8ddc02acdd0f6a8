"""What a verified release says about its item besides the bytes: rights, tools, what can run, relations, …"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec import Struct

from rye.items.agent_tools import AgentTools, from_words
from rye.items.consented import HookAction, Run
from rye.items.identity import Identity


class Mention(Struct, frozen=True):
    """One thing that an item's text mentions, at its first position (:mod:`rye.installation.install`)."""

    fact: str
    value: str
    level: str
    path: str
    line: int

    @property
    def word(self) -> str:
        """The mention as written in rye.lock."""
        return f"{self.fact} {self.value}"

    @property
    def is_alarm(self) -> bool:
        """Whether its level is ``alarm``: it stops an installation without a person."""
        return self.level == "alarm"

    @property
    def is_note(self) -> bool:
        """Whether it never needs consent."""
        return self.level == "note"


class SignedRelation(Struct, frozen=True):
    """One relation to another item."""

    reference: str
    identity: Identity | None
    """None if it is a feature of the environment, not an item."""
    range: str = "*"

    @property
    def feature(self) -> str:
        """The reference without its kind, as ``[environment] provides`` may list it."""
        return self.reference.rpartition(":")[2]


class SignedRelease(Struct, frozen=True, kw_only=True):
    """What one release says: in its signed note and, for hooks, agent tools, runs and mentions, in its verified bytes."""

    capabilities: tuple[str, ...] = ()
    agent_tools: tuple[str, ...] = ()
    hooks: tuple[HookAction, ...] = ()
    depends_on: tuple[SignedRelation, ...] = ()
    requires: tuple[SignedRelation, ...] = ()
    conflicts_with: tuple[SignedRelation, ...] = ()
    agent_limits: tuple[str, ...] = ()
    runs: tuple[Run, ...] = ()
    mentions: tuple[Mention, ...] | None = None
    """None if the bytes were not examined."""
    signed_by: str | None = None
    """For an item of ``[sources]``: the fingerprint of the key in this user's trust store that signed all of it."""
    signers: tuple[str, ...] = ()
    """For a release in a registry: the fingerprints of the keys that signed its note and are not revoked for its position."""
    time: datetime | None = None
    """For a release in a registry: its own time."""

    @property
    def tools(self) -> AgentTools | None:
        """The item's agent tools and their restrictions; None if it lists none."""
        return from_words(self.agent_tools, self.agent_limits)

    def needs(self, provides: frozenset[str]) -> Iterator[tuple[Identity, str]]:
        """Yield the items that it depends on, with their ranges, except features that the environment provides."""
        for relation in self.depends_on:
            if relation.identity is not None:
                yield relation.identity, relation.range
        for relation in self.requires:
            if relation.identity is not None and relation.feature not in provides:
                yield relation.identity, relation.range

    def missing_features(self, provides: frozenset[str]) -> list[str]:
        """Return the required features that the environment does not provide."""
        wanted = (relation.feature for relation in self.requires if relation.identity is None)
        return sorted({feature for feature in wanted if feature not in provides})


def identities_of(needs: Iterable[tuple[Identity, str]]) -> tuple[str, ...]:
    """Return identities as rye.lock lists dependencies: sorted, without duplicates."""
    return tuple(sorted({str(identity) for identity, _ in needs}))
