"""What the solver is told about items: their releases and what these need, out of fetched histories, of the lock and of the
manifests of members (DESIGN §6).

Where nobody answers for a namespace and the run goes on (:meth:`rye.installation.sources.Sources.held`), each of its rows in the
lock is the only candidate of its item, and nothing else of it can be chosen. No item ever moves to another registry for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from rye.installation.environment import Environment
from rye.installation.sources import History, Record
from rye.items.identity import Identity
from rye.project.lock import Lock, LockedItem
from rye.registry.protocol.statements import Relation
from rye.resolution.problem import Absence, Candidate, Demands, Missing, Requirement, Unavailable
from rye.resolution.ranges import Range
from rye.resolution.versions import Version


class Part(Struct, frozen=True):
    """A member of a workspace, as the solver sees it: a package with one release and the dependencies in its rye.toml. This
    way a proof of failure names the member."""

    path: str

    def __str__(self) -> str:
        return self.path


Package = Identity | Part
PART_RELEASE = Candidate(Version.of(0, 0, 0))
"""The only one of a member."""


class Provider:
    """Answers the solver from fetched histories and from the manifests of members."""

    def __init__(
        self,
        environment: Environment,
        lock: Lock,
        parts: Mapping[Part, Sequence[Requirement[Package]]] | None = None,
        is_source: Callable[[str], bool] = lambda namespace: False,
        held: Mapping[Identity, LockedItem] | None = None,
    ):
        """``held``: the rows that nobody answers for."""
        self.held = held or {}
        self.passed_over: set[Identity] = set()
        """The items that nothing is asked of, so that none of them is chosen."""
        self._is_source = is_source
        self._environment = environment
        self._parts = parts or {}
        self._locked = {item.identity: (item.version, item.registry) for item in lock.items}
        self._histories: dict[Identity, History | None] = {}
        self._records: dict[tuple[Identity, Version], Record] = {}

    def learn(self, wanted: Iterable[Identity], found: Mapping[Identity, History]) -> None:
        """Take in what was told about the items that were asked about; nothing: there is no such item."""
        for identity in wanted:
            history = found.get(identity)
            self._histories[identity] = history
            for record in history.records if history is not None else ():
                self._records[(identity, Version.parse(record.version))] = record

    def record(self, identity: Identity, version: Version) -> Record | LockedItem:
        """The release, or the row of one of which nothing else is known here."""
        return self._records.get((identity, version)) or self.held[identity]

    def candidates(self, package: Package) -> Sequence[Candidate] | Unavailable:
        """What could be chosen. Raises Missing if nobody was asked yet."""
        if isinstance(package, Part):
            return [PART_RELEASE]
        if package in self.held:
            version = Version.parse(self.held[package].version)
            known = self._records.get((package, version))
            return [Candidate(version, self._environment.exclusions(known) if known is not None else {})]
        if package not in self._histories:
            raise Missing(package)
        history = self._histories[package]
        if history is None:
            return self._absent(package)
        return [
            Candidate(Version.parse(record.version), self._environment.exclusions(record)) for record in history.records
        ]

    def demands(self, package: Package, version: Version) -> Demands[Package]:
        """What a release demands."""
        asked = self.asked_by(package, version)
        return Demands(self.heeded(asked.dependencies), asked.conflicts, asked.missing_features)

    def heeded(self, asked: Iterable[Requirement[Package]]) -> list[Requirement[Package]]:
        """What is asked of items that are not passed over."""
        return [one for one in asked if one.package not in self.passed_over]

    def asked_by(self, package: Package, version: Version) -> Demands[Package]:
        """What a release demands, also of items that are passed over."""
        if isinstance(package, Part):
            return Demands(self._parts[package])
        if (package, version) not in self._records:  # the ranges of a row are unknown, so what it needs stays as well
            rows = (name.split(":", 1) for name in self.held[package].dependencies)
            needed = [Identity(kind, identifier) for kind, identifier in rows]
            return Demands([exactly(one, self._locked[one][0]) for one in needed if one in self._locked])
        release = self._records[(package, version)].release
        dependencies: list[Requirement[Package]] = []
        dependencies.extend(_requirement(relation) for relation in release.depends_on if relation.identity is not None)
        missing = []
        for relation in release.requires:
            feature = relation.reference.rpartition(":")[2]
            if feature in self._environment.provides:
                continue
            if relation.identity is None:
                missing.append(feature)
            else:
                dependencies.append(_requirement(relation))
        conflicts: list[Requirement[Package]] = []
        conflicts.extend(_requirement(relation) for relation in release.conflicts_with if relation.identity is not None)
        return Demands(dependencies, conflicts, missing)

    def history(self, identity: Identity) -> History | None:
        """What was told about an item; None: nothing."""
        return self._histories.get(identity)

    def needs(self, record: Record) -> tuple[Identity, ...]:
        """Return the items that a chosen release depends on."""
        demands = self.demands(record.identity, Version.parse(record.version))
        needed = (requirement.package for requirement in demands.dependencies)
        return tuple(sorted({package for package in needed if isinstance(package, Identity)}))

    def _absent(self, package: Identity) -> Unavailable:
        if self._is_source(package.namespace):
            return Unavailable(Absence.NOT_IN_SOURCE)
        locked = self._locked.get(package)
        if locked is not None:
            return Unavailable(Absence.OTHER_REGISTRY, locked[1])
        return Unavailable(Absence.NOT_FOUND)


def exactly(identity: Identity, version: object) -> Requirement[Package]:
    """This version and no other."""
    return Requirement(identity, Range.parse(f"={version}"))


def _requirement(relation: Relation) -> Requirement[Package]:
    assert relation.identity is not None
    return Requirement(relation.identity, Range.parse(relation.range))
