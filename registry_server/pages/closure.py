"""What an item brings besides itself: the releases that a client without other items would choose for its dependencies.

The same solver as the client's, over the histories that the reader may see, without a lock, a policy or forced versions. The
work is bounded: beyond :attr:`~registry_server.pages.limits.PageLimits.closure` items the page says that it was not worked out.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from registry_server.pages.limits import PAGES
from registry_server.pages.registry_view import RegistryView
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.protocol.statements import Relation
from rye.registry.trust.records import ItemHistory, ReleaseRecord
from rye.resolution.outcome import NeedsMore
from rye.resolution.problem import Absence, Candidate, Demands, Exclusion, Missing, Requirement, Root, Unavailable
from rye.resolution.ranges import Range
from rye.resolution.solver import Resolution
from rye.resolution.versions import Version, comparable


class Closure(Struct, frozen=True):
    """What comes with a release."""

    records: tuple[ReleaseRecord, ...] = ()
    """The other items' releases, sorted by name."""
    problem: str | None = None
    """Why they are not known, as a sentence."""
    basis: tuple[object, ...] = ()
    """What the choice depends on."""


NOTHING = Closure()


def closure_of(registry: RegistryView, record: ReleaseRecord) -> Closure:
    """Return what a client would install with a release."""
    if not any(relation.identity is not None for relation in (*record.release.depends_on, *record.release.requires)):
        return NOTHING
    if comparable(record.version) is None:
        return Closure(problem=UNSOLVABLE)
    provider = _Provider(record)
    wanted = Requirement(record.identity, Range.parse(f"={record.version}"))
    root = Root[Identity](requirements=[wanted], name="your project")
    resolution = Resolution(root, provider)
    problem = None
    try:
        while isinstance(outcome := resolution.resolve(), NeedsMore):
            if len(provider.known) + len(outcome.packages) > PAGES.closure:
                return Closure(problem=TOO_MANY, basis=_basis(registry, provider))
            provider.learn(registry, outcome.packages)
        chosen = [provider.record(package, version) for package, version in outcome.versions.items()]
    except RyeError as error:
        chosen, problem = [], UNSOLVABLE if error.code == "unsolvable" else TOO_MANY
    records = tuple(each for each in chosen if each.identity != record.identity)
    return Closure(records, problem, _basis(registry, provider))


UNSOLVABLE = "No choice of versions satisfies all of its dependencies, so it cannot be installed."
TOO_MANY = "It needs too many items to be worked out here. `rye add` shows all of them before it asks."


def _basis(registry: RegistryView, provider: _Provider) -> tuple[object, ...]:
    return tuple((str(identity), registry.basis(identity)) for identity in sorted(provider.known))


class _Provider:
    """Answers the solver from histories."""

    def __init__(self, start: ReleaseRecord) -> None:
        self._records = {(start.identity, Version.parse(start.version)): start}
        self._histories: dict[Identity, ItemHistory | None] = {}
        self._start = start

    @property
    def known(self) -> frozenset[Identity]:
        """The items that were asked for."""
        return frozenset(self._histories)

    def learn(self, registry: RegistryView, wanted: Sequence[Identity]) -> None:
        found = registry.histories(list(wanted))
        for identity in wanted:
            history = self._histories[identity] = found.get(identity)
            for record in history.records if history is not None else ():
                version = comparable(record.version)
                if version is not None:
                    self._records[(identity, version)] = record

    def record(self, identity: Identity, version: Version) -> ReleaseRecord:
        return self._records[(identity, version)]

    def candidates(self, package: Identity) -> Sequence[Candidate] | Unavailable:
        if package == self._start.identity:
            return [Candidate(Version.parse(self._start.version))]
        if package not in self._histories:
            raise Missing(package)
        history = self._histories[package]
        if history is None:
            return Unavailable(Absence.NOT_FOUND)
        return [
            Candidate(version, {Exclusion.YANKED: ""} if record.is_withdrawn else {})
            for record in history.records
            if (version := comparable(record.version)) is not None
        ]

    def demands(self, package: Identity, version: Version) -> Demands[Identity]:
        release = self._records[(package, version)].release
        wanted = (*release.depends_on, *release.requires)  # a project can provide a feature, so none is missing
        return Demands(_requirements(wanted), _requirements(release.conflicts_with))


def _requirements(relations: Sequence[Relation]) -> list[Requirement[Identity]]:
    return [Requirement(r.identity, Range.parse(r.range)) for r in relations if r.identity is not None]
