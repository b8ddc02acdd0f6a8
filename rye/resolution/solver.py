"""PubGrub: version solving by unit propagation and conflict-driven learning.

Based on Natalie Weizenbaum's description of the algorithm for Dart's pub. The rules of this file:

1. *Propagation*: when all terms of an incompatibility but one are satisfied, the opposite of that one is derived.
2. *Decision*: when nothing more follows, one package that must be chosen gets its locked release if that is still possible,
   or else its highest: of those that are not yanked, if there is one. (Only a yanked release that the lock names is possible
   at all.) Its facts become incompatibilities first. If they would be violated at once, propagation handles it.
3. *Conflict*: a satisfied incompatibility is resolved with the cause of the assignment that completed it, until the result
   was one assignment short at an earlier level. That one is kept, and the search jumps back to that level. If it forbids the
   project itself, there is no solution, and its derivation is the proof.
4. *Order*: packages with one release left come first, then those that were met first, so that direct requirements of the
   project get their highest versions before indirect ones. (Counting conflicts or remaining releases, as SAT solvers and pub
   do, was slower on generated registries.) A package's facts are read in the order of names. No result depends on the order of
   the caller's input, or on clocks or hashes.
5. *Waves*: a package that the provider has not fetched is noted, and its dependents' facts about it are left out. A run that
   noted one ends in NeedsMore, whatever else it found. So no solution or proof depends on what happened to be fetched already.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import Generic

from rye.limits import RESOLUTION
from rye.resolution.explanation import explain
from rye.resolution.incompatibility import (
    ROOT,
    Absent,
    Cause,
    Conflicts,
    Depends,
    Excluded,
    Incompatibility,
    LacksFeature,
    NoVersion,
    resolvent,
)
from rye.resolution.outcome import NeedsMore, Solution, TooHard, Unsolvable
from rye.resolution.partial_solution import PartialSolution
from rye.resolution.problem import Exclusion, P, Provider, Root
from rye.resolution.ranges import Range
from rye.resolution.universe import Releases, Universe
from rye.resolution.versions import Version


def resolve(root: Root[P], provider: Provider[P]) -> Solution[P] | NeedsMore[P]:
    """Choose one version for every package that the project needs, directly or indirectly.

    Raises Unsolvable with the proof, or TooHard. For NeedsMore, fetch those packages and call again; a :class:`Resolution`
    remembers earlier answers, so that calling again is cheap.
    """
    return Resolution(root, provider).resolve()


class Resolution(Generic[P]):
    """One project's problem, solved in one call per wave."""

    def __init__(self, root: Root[P], provider: Provider[P]):
        self.universe = Universe(root, provider)
        """The source of the numbers in an Unsolvable's ``root_cause``, for callers that check a proof."""

    def resolve(self) -> Solution[P] | NeedsMore[P]:
        """Like :func:`resolve`; the provider may know more than at the last call."""
        universe = self.universe
        run = _Run(universe)
        root_cause = run.search()
        if run.missing:
            missing = sorted(run.missing, key=lambda index: universe.names[index])
            return NeedsMore(tuple(universe.packages[index - 1] for index in missing))
        if root_cause is not None:
            raise Unsolvable(
                explain(root_cause, universe.names, universe.loaded, universe.forced, universe.parts), root_cause
            )
        chosen = run.chosen()
        return Solution(
            {
                universe.packages[index - 1]: universe.loaded(index).candidates[chosen[index]].version
                for index in sorted(chosen, key=lambda index: universe.names[index])
            }
        )


class _Run(Generic[P]):
    """One search from the start."""

    def __init__(self, universe: Universe[P]):
        self.missing: set[int] = set()
        self._universe = universe
        self._solution = PartialSolution()
        self._about: dict[int, list[Incompatibility]] = {}
        """For each package, the incompatibilities of at most two terms that mention it, newest last."""
        self._watching: dict[int, list[Incompatibility]] = {}
        """For each package, the longer incompatibilities watched there (see :meth:`_follow_watched`)."""
        self._stated: set[Cause | tuple[int, int, Range]] = set()
        """Facts that already are incompatibilities; dependencies as (package, target, range)."""
        self._met: dict[int, int] = {}
        """Packages that something depends on, numbered in the order they were met."""
        self._refusals: dict[int, list[tuple[int, int, Range]]] = {}
        """Conflicts with packages that nothing requires yet: (package, mask of its releases, range)."""
        self._queue: list[tuple[bool, int, int]] = []
        """Candidates for the next decision, including stale entries."""
        self._contradicted: list[tuple[int, Incompatibility]] = []
        self._looks = 0
        """How many incompatibilities have been examined."""
        self._met[ROOT] = 0
        self._solution.make_room(1)

    def search(self) -> Incompatibility | None:
        """Return None if :meth:`chosen` is the solution (unless packages are ``missing``), or the proof that there is none."""
        self._state_facts(ROOT, 1)
        self._solution.decide(ROOT, 1, 0)
        package: int | None = ROOT
        while package is not None:
            failure = self._propagate(package)
            if failure is not None:
                return failure
            package = self._next()
            if package is not None:
                self._decide(package)
        return None

    def chosen(self) -> dict[int, int]:
        """The chosen release's number for each chosen package, without the project."""
        solution = self._solution
        return {p: solution.state[p].bit_length() - 1 for p in self._met if p != ROOT and solution.decided[p]}

    def _next(self) -> int | None:
        """The next package to decide, or None (rule 4)."""
        state, decided = self._solution.state, self._solution.decided
        while self._queue:
            entry = heappop(self._queue)
            package = entry[-1]
            if state[package] >= 0 and not decided[package] and entry == self._entry(package):
                return package
        return None

    def _entry(self, package: int) -> tuple[bool, int, int]:
        mask = self._solution.state[package]
        return (mask & (mask - 1) != 0, self._met[package], package)

    def _enqueue(self, package: int) -> None:
        if self._solution.state[package] >= 0 and not self._solution.decided[package]:
            heappush(self._queue, self._entry(package))

    # ------------------------------------------------------------------------------------------------ decision (rule 2)

    def _decide(self, package: int) -> None:
        bit = self._preferred(package)
        new = self._state_facts(package, bit)
        state = self._solution.state
        for incompatibility in new:
            if all(other == package or not state[other] & ~mask for other, mask in incompatibility.terms):
                self._enqueue(package)
                return
        self._solution.decide(package, bit, self._solution.level + 1)

    def _preferred(self, package: int) -> int:
        """The bit of the release to try."""
        mask = self._solution.state[package]
        locked = self._bit(package, self._universe.root.locked) & mask
        if locked:
            return locked
        usable = mask & ~self._universe.loaded(package).excluded.get(Exclusion.YANKED, 0) or mask
        return 1 << (usable.bit_length() - 1)

    def _bit(self, package: int, versions: Mapping[P, Version]) -> int:
        """The bit of the release that a lock names, or 0."""
        version = versions.get(self._universe.packages[package - 1])
        return self._universe.loaded(package).find(version) if version is not None else 0

    # ------------------------------------------------------------------------------------------------ facts

    def _state_facts(self, package: int, bit: int) -> list[Incompatibility]:
        """Turn the demands of one release into incompatibilities. Returns the new ones."""
        facts = self._universe.facts(package)
        new: list[Incompatibility] = []
        for mask, target, wanted in facts.dependencies:
            if mask & bit:
                self._depend(package, mask, target, wanted, new)
        for mask, target, wanted in facts.conflicts:
            if mask & bit and target != package:
                if target in self._met:
                    self._refuse(package, mask, target, wanted, new)
                else:
                    self._refusals.setdefault(target, []).append((package, mask, wanted))
        for mask, feature in facts.features:
            if mask & bit:
                self._state(((package, mask),), LacksFeature(package, mask, feature), new)
        return new

    def _depend(self, package: int, mask: int, target: int, wanted: Range, new: list[Incompatibility]) -> None:
        """State a dependency, and why some of the releases within its range cannot be chosen.

        If none can, the consequence is stated instead of the dependency, so that a proof gives that reason and not an accidental
        clash with another dependent's range.
        """
        key = (package, target, wanted)
        if key in self._stated:
            return
        releases = self._universe.releases(target)
        if releases is None:
            self.missing.add(target)
            return
        self._stated.add(key)
        if target not in self._met:
            self._met[target] = len(self._met)
            self._solution.make_room(target + 1)
            for who, refusing, refused in self._refusals.pop(target, ()):
                self._refuse(who, refusing, target, refused, new)
        within = releases.mask(wanted)
        cause = Depends(package, mask, target, within, wanted)
        if package == target:
            if mask & ~within:
                self._state(((package, mask & ~within),), cause, new)
            return
        unusable = self._unusable(target, releases, within, wanted)
        dependency = Incompatibility(_ordered((package, mask), (target, ~within)), cause)
        if sum(incompatibility.terms[0][1] for incompatibility in unusable) == within:
            for incompatibility in unusable:
                dependency = resolvent(dependency, incompatibility, target)
        else:
            for incompatibility in unusable:
                excluded = incompatibility.cause
                if excluded not in self._stated:
                    self._stated.add(excluded)
                    self._keep(incompatibility, new)
        self._keep(dependency, new)

    def _unusable(self, package: int, releases: Releases, within: int, wanted: Range) -> list[Incompatibility]:
        """Why some or all of the releases within a range cannot be chosen. The masks are disjoint."""
        if releases.absence is not None:
            absence = releases.absence
            return [Incompatibility(((package, within),), Absent(package, absence.absence, absence.detail))]
        if within > releases.every:
            return [Incompatibility(((package, within),), NoVersion(package, wanted))]
        result = []
        left = within
        for reason, excluded in releases.excluded.items():
            mask = excluded & left
            if reason is Exclusion.YANKED:
                root = self._universe.root
                mask &= ~(self._bit(package, root.locked) | self._bit(package, root.updated))
            if mask:
                left &= ~mask
                cause = Excluded(package, mask, reason, releases.detail(mask, reason))
                result.append(Incompatibility(((package, mask),), cause))
        return result

    def _refuse(self, package: int, mask: int, target: int, wanted: Range, new: list[Incompatibility]) -> None:
        refused = self._universe.loaded(target).known(wanted)
        if refused:
            cause = Conflicts(package, mask, target, refused, wanted)
            self._state(_ordered((package, mask), (target, refused)), cause, new)

    def _state(self, terms: tuple[tuple[int, int], ...], cause: Cause, new: list[Incompatibility]) -> None:
        """Record a fact once."""
        if cause not in self._stated:
            self._stated.add(cause)
            self._keep(Incompatibility(terms, cause), new)

    def _keep(self, incompatibility: Incompatibility, new: list[Incompatibility] | None = None) -> None:
        # An incompatibility without terms forbids everything; file it under the project, where it will be noticed.
        for package in [package for package, _ in incompatibility.terms] or [ROOT]:
            self._about.setdefault(package, []).append(incompatibility)
        if new is not None:
            new.append(incompatibility)

    # ------------------------------------------------------------------------------------------------ propagation (rule 1)

    def _propagate(self, package: int) -> Incompatibility | None:
        """Derive everything that follows from a changed package. Returns the proof if there is no solution."""
        changed = [package]
        while changed:
            current = changed.pop()
            conflict = self._follow_watched(current, changed) or self._follow_facts(current, changed)
            if conflict is not None:
                learned, pivot = self._learn(conflict)
                if learned.is_failure():
                    return learned
                # The result is one term short at this package, so examining it there derives the opposite of that term.
                changed = [pivot]
        return None

    def _follow_facts(self, current: int, changed: list[int]) -> Incompatibility | None:
        """Apply rule 1 to incompatibilities of at most two terms. Returns one that is satisfied, if any."""
        state = self._solution.state
        about = self._about.get(current, [])
        self._looks += len(about)
        for incompatibility in reversed(about):  # newest first: recently learned ones prune the most
            if incompatibility.contradicted:
                continue
            open_package = -1
            open_mask = 0
            for other, mask in incompatibility.terms:
                now = state[other]
                if not now & ~mask:
                    continue
                if not now & mask:
                    self._contradict(incompatibility)
                    break
                if open_package >= 0:
                    break
                open_package, open_mask = other, mask
            else:
                if open_package < 0:
                    return incompatibility
                self._derive(open_package, open_mask, incompatibility, changed)
        return None

    def _follow_watched(self, current: int, changed: list[int]) -> Incompatibility | None:
        """Apply rule 1 to longer incompatibilities. Only two of their terms are watched: while both are open, nothing can follow.

        A term is *open* while its package can still both satisfy and contradict it. When a watched term is satisfied, the watch
        moves to another open term. It never needs to move back: backtracking undoes the newest assignments first, and the terms
        satisfied last are those watched last, so they are the first to become open again.
        """
        watching = self._watching.get(current)
        if not watching:
            return None
        self._looks += len(watching)
        state = self._solution.state
        kept: list[Incompatibility] = []
        for place, incompatibility in enumerate(watching):
            open_terms: list[tuple[int, int]] = []
            if not incompatibility.contradicted:
                for other, mask in incompatibility.terms:
                    now = state[other]
                    if not now & ~mask:
                        continue  # satisfied: no release outside the mask is left
                    if not now & mask:
                        self._contradict(incompatibility)  # no release inside it is left
                        break
                    open_terms.append((other, mask))
                    if len(open_terms) == 2:  # with two, nothing follows
                        break
                else:
                    if not open_terms:
                        self._watching[current] = kept + watching[place:]  # keep this one and those not examined yet
                        return incompatibility
                    self._derive(*open_terms[0], incompatibility, changed)
            if len(open_terms) == 2 and not incompatibility.contradicted:
                packages = [other for other, _ in open_terms]
                partner = incompatibility.partner(current)
                if current not in packages:  # this watch moves away; the partner's may stay
                    successor = packages[packages[0] == partner]
                    incompatibility.watched = (successor, partner)
                    self._watching.setdefault(successor, []).append(incompatibility)
                    continue
            kept.append(incompatibility)
        self._watching[current] = kept
        return None

    def _derive(self, package: int, mask: int, cause: Incompatibility, changed: list[int]) -> None:
        self._solution.derive(package, ~mask, cause)
        self._contradict(cause)
        self._enqueue(package)
        changed.append(package)

    def _contradict(self, incompatibility: Incompatibility) -> None:
        """Mark it as unable to become true until the search goes back below this level, so that it can be skipped."""
        incompatibility.contradicted = True
        self._contradicted.append((self._solution.level, incompatibility))

    # ------------------------------------------------------------------------------------------------ conflict (rule 3)

    def _learn(self, incompatibility: Incompatibility) -> tuple[Incompatibility, int]:
        """Resolve a satisfied incompatibility and jump back.

        Returns what was learned and the package at which it is now one term short, or the proof that there is no solution.
        """
        if self._looks > RESOLUTION.solver_looks:
            raise TooHard(RESOLUTION.solver_looks)
        known = incompatibility
        while not incompatibility.is_failure():
            satisfier, level = self._solution.satisfier(incompatibility)
            if satisfier.cause is None or level < satisfier.level:
                if incompatibility is not known:
                    self._remember(incompatibility, satisfier.package)
                self._jump_back(level)
                return incompatibility, satisfier.package
            incompatibility = resolvent(incompatibility, satisfier.cause, satisfier.package)
        return incompatibility, ROOT

    def _remember(self, learned: Incompatibility, pivot: int) -> None:
        """Keep what was learned. Watch a long one where it becomes open soonest: at the pivot and at its last other term."""
        if len(learned.terms) <= 2:
            self._keep(learned)
            return
        others = [term for term in learned.terms if term[0] != pivot]
        learned.watched = (pivot, self._solution.last_satisfied(others))
        for package in learned.watched:
            self._watching.setdefault(package, []).append(learned)

    def _jump_back(self, level: int) -> None:
        for package in self._solution.backtrack(level):
            self._enqueue(package)
        while self._contradicted and self._contradicted[-1][0] > level:
            self._contradicted.pop()[1].contradicted = False


def _ordered(one: tuple[int, int], other: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    return (one, other) if one[0] < other[0] else (other, one)
