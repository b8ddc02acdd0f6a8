"""The provider's answers so far, as numbers: packages as indexes, releases as bits, ranges as masks.

The rules of this file:

1. Bit *i* of a package's mask is its *i*-th release in ascending order. (Build metadata does not affect the order but breaks
   ties, so that the provider's order never matters.)
2. A range that contains no release gets an extra bit above the releases: "a version within that range", which can never be
   chosen. So a term for it is never empty, and the proof can say which range matched nothing.
3. Releases that make the same demand share one fact about it: the proof says ">=1.2.0 depends on …" once.
4. A package that the root forces is only requested in the forced range, whatever its dependents ask for. Conflicts are not
   changed.
5. Only the numbers depend on the order of questions, and no result shows them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Generic

from msgspec import Struct

from rye.resolution.problem import Candidate, Exclusion, Missing, P, Provider, Requirement, Root, Unavailable
from rye.resolution.ranges import Range
from rye.resolution.versions import Key, Version, VersionSet


class PackageDemands(Struct, frozen=True):
    """What the releases of one package demand, with masks of the releases that do. Sorted, so that runs are reproducible."""

    dependencies: tuple[tuple[int, int, Range], ...]
    """(own mask, target's index, range)"""
    conflicts: tuple[tuple[int, int, Range], ...]
    features: tuple[tuple[int, str], ...]


class Releases:
    """The known releases of one package, and the masks of the ranges requested of it."""

    __slots__ = ("_keys", "_masks", "_next_bit", "_stable", "absence", "candidates", "every", "excluded")

    def __init__(self, candidates: Iterable[Candidate], absence: Unavailable | None = None):
        self.candidates = sorted(candidates, key=lambda c: (c.version.key, c.version.build))
        self.absence = absence
        self.every = (1 << len(self.candidates)) - 1
        self._next_bit = len(self.candidates)
        self.excluded: dict[Exclusion, int] = {}
        """For each reason, the releases that must not be chosen."""
        if any(candidate.exclusions for candidate in self.candidates):
            for reason in Exclusion:
                mask = sum(1 << bit for bit, c in enumerate(self.candidates) if reason in c.exclusions)
                if mask:
                    self.excluded[reason] = mask
        self._keys: list[Key] = [candidate.version.key for candidate in self.candidates]
        self._stable = sum(1 << i for i, c in enumerate(self.candidates) if not c.version.is_prerelease)
        self._masks: dict[Range, int] = {}

    def mask(self, wanted: Range) -> int:
        """The releases within a range, or rule 2's bit if there are none."""
        mask = self._masks.get(wanted)
        if mask is None:
            mask = self.known(wanted)
            if not mask:
                mask = 1 << self._next_bit
                self._next_bit += 1
            self._masks[wanted] = mask
        return mask

    def known(self, wanted: Range) -> int:
        """The releases within a range, or 0 if there are none."""
        mask = self._between(wanted.versions) & self._stable
        if not wanted.prereleases.is_empty():
            mask |= self._between(wanted.prereleases) & ~self._stable
        return mask

    def find(self, version: Version) -> int:
        """The bit of exactly this release, including build metadata, or 0 if there is none."""
        place = bisect_left(self._keys, version.key)
        while place < len(self._keys) and self._keys[place] == version.key:
            if self.candidates[place].version.build == version.build:
                return 1 << place
            place += 1
        return 0

    def detail(self, mask: int, reason: Exclusion) -> str:
        """The detail for people about the excluded releases in a mask: only what applies to all of them."""
        details = {c.exclusions[reason] for bit, c in enumerate(self.candidates) if mask >> bit & 1}
        return details.pop() if len(details) == 1 else ""

    def _between(self, versions: VersionSet) -> int:
        places = [bisect_left(self._keys, cut) for cut in versions.cuts]
        if len(places) % 2:
            places.append(len(self._keys))
        mask = 0
        for low, high in zip(places[::2], places[1::2], strict=True):
            mask |= (1 << high) - (1 << low)
        return mask


class Universe(Generic[P]):
    """Everything known so far. Grows as the solver asks, and is kept between waves so that nothing is asked again."""

    def __init__(self, root: Root[P], provider: Provider[P]):
        self.root = root
        self.provider = provider
        self.names = [root.name]
        self.packages: list[P] = []
        """For index *i*, the name of ``packages[i - 1]``; index 0 is the project."""
        self._indexes: dict[P, int] = {}
        self.parts: set[int] = {0}
        """The project and its parts."""
        self.forced: set[int] = set()
        """The requested packages whose range the root forces (rule 4)."""
        self._releases: dict[int, Releases] = {0: Releases([Candidate(Version.of(0, 0, 0))])}
        self._facts: dict[int, PackageDemands] = {0: self._group([(1, root.requirements, root.conflicts, ())])}

    def index(self, package: P) -> int:
        """The number of a package; a new package gets the next one."""
        found = self._indexes.get(package)
        if found is None:
            self.packages.append(package)
            self.names.append(str(package))
            found = self._indexes[package] = len(self.packages)
            if package in self.root.parts:
                self.parts.add(found)
        return found

    def releases(self, index: int) -> Releases | None:
        """A package's releases, or None if it has not been fetched yet."""
        known = self._releases.get(index)
        if known is None:
            try:
                answer = self.provider.candidates(self.packages[index - 1])
            except Missing:
                return None
            known = Releases([], answer) if isinstance(answer, Unavailable) else Releases(answer)
            self._releases[index] = known
        return known

    def loaded(self, index: int) -> Releases:
        """The releases of a package that is known to be fetched."""
        return self._releases[index]

    def facts(self, index: int) -> PackageDemands:
        """The demands of all releases of a fetched package."""
        known = self._facts.get(index)
        if known is None:
            package = self.packages[index - 1]
            demands = self.provider.demands
            asked = []
            for bit, candidate in enumerate(self._releases[index].candidates):
                said = demands(package, candidate.version)
                asked.append((1 << bit, said.dependencies, said.conflicts, said.missing_features))
            known = self._facts[index] = self._group(asked)
        return known

    def _group(
        self, asked: Iterable[tuple[int, Iterable[Requirement[P]], Iterable[Requirement[P]], Iterable[str]]]
    ) -> PackageDemands:
        """Group equal demands (rule 3)."""
        dependencies: dict[tuple[int, Range], int] = {}
        conflicts: dict[tuple[int, Range], int] = {}
        features: dict[str, int] = {}
        for bit, needs, refuses, lacks in asked:
            for requirement in needs:
                needed = (self.index(requirement.package), self._asked(requirement))
                dependencies[needed] = dependencies.get(needed, 0) | bit
            for requirement in refuses:
                refused = (self.index(requirement.package), requirement.range)
                conflicts[refused] = conflicts.get(refused, 0) | bit
            for feature in lacks:
                features[feature] = features.get(feature, 0) | bit
        return PackageDemands(
            self._sorted(dependencies),
            self._sorted(conflicts),
            tuple((features[name], name) for name in sorted(features)),
        )

    def _asked(self, requirement: Requirement[P]) -> Range:
        """The range to request, with forced ranges applied (rule 4)."""
        forced = self.root.forced(requirement.package)
        if forced is None:
            return requirement.range
        self.forced.add(self.index(requirement.package))
        return forced

    def _sorted(self, table: dict[tuple[int, Range], int]) -> tuple[tuple[int, int, Range], ...]:
        names = self.names
        ordered = sorted(table.items(), key=lambda item: (names[item[0][0]], item[0][1].text))
        return tuple((mask, index, wanted) for (index, wanted), mask in ordered)
