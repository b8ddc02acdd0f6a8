"""PubGrub: version solving by unit propagation and conflict-driven learning.

After Natalie Weizenbaum's description of the algorithm for Dart's pub. The rules of this file:

1. *Propagation*: when all terms of an incompatibility are satisfied but one, that one's opposite is derived.
2. *Decision*: when nothing follows any more, one package that must be chosen gets its locked release if that is still
   possible, else its highest. Its facts become incompatibilities first; when they would be violated at once, it is
   left to propagation.
3. *Conflict*: a satisfied incompatibility is resolved with the cause of the assignment that completed it, until one
   is found that was one assignment short at an earlier level. That one is kept, and the search jumps back there. When
   it forbids the project itself, there is no solution and its derivation is the proof.
4. *Order*: packages with one release left come first, then those that were met first, so that what the project asks
   for directly gets its highest before what that brings along. (Counting conflicts or releases left, as SAT solvers and
   pub do, was slower on generated registries.) A package's facts are read in the order of names. No result depends on
   the order in which the caller gives things, nor on clocks or hashes.
5. *Waves*: a package that the provider has not fetched is noted and its dependants' facts about it are left out. A
   run that noted one ends in NeedsMore, whatever else it found: so what is solved or proved never depends on what
   happened to be fetched already.
"""

from __future__ import annotations

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


def resolve(root: Root[P], provider: Provider[P]) -> Solution[P] | NeedsMore[P]:
    """Choose one version for every package that the project needs, directly or not.

    Raises Unsolvable with the proof, or TooHard. With NeedsMore, fetch those packages and ask again; a :class:`Resolution`
    remembers what was said before, so asking again is cheap.
    """
    return Resolution(root, provider).resolve()


class Resolution(Generic[P]):
    """One project's question, asked once per wave."""

    def __init__(self, root: Root[P], provider: Provider[P]):
        self.universe = Universe(root, provider)
        """The numbers in an Unsolvable's ``root_cause`` are these, for whoever checks a proof."""

    def resolve(self) -> Solution[P] | NeedsMore[P]:
        """As :func:`resolve`; the provider may know more than at the last call."""
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
    """One search from the beginning."""

    def __init__(self, universe: Universe[P]):
        self.missing: set[int] = set()
        self._universe = universe
        self._solution = PartialSolution()
        self._about: dict[int, list[Incompatibility]] = {}
        """For each package, the incompatibilities of at most two terms with one for it, the newest last."""
        self._watching: dict[int, list[Incompatibility]] = {}
        """For each package, the longer ones that are watched there (see :meth:`_follow_watched`)."""
        self._stated: set[Cause | tuple[int, int, Range]] = set()
        """Facts that are incompatibilities already; dependencies as (who, on what, range)."""
        self._met: dict[int, int] = {}
        """Packages that something depends on, numbered as they were met."""
        self._refusals: dict[int, list[tuple[int, int, Range]]] = {}
        """Conflicts with packages that nobody asked for yet: (who, which of its releases, range)."""
        self._queue: list[tuple[bool, int, int]] = []
        """Candidates for the next decision, stale entries among them."""
        self._contradicted: list[tuple[int, Incompatibility]] = []
        self._looks = 0
        """Incompatibilities looked at so far."""
        self._met[ROOT] = 0
        self._solution.make_room(1)

    def search(self) -> Incompatibility | None:
        """None: :meth:`chosen` is the solution, unless something is ``missing``. Else the proof that there is none."""
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
        """For each chosen package but the project, its release's number."""
        solution = self._solution
        return {p: solution.state[p].bit_length() - 1 for p in self._met if p != ROOT and solution.decided[p]}

    def _next(self) -> int | None:
        """Rule 4."""
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
        return (self._locked(package) & mask) or 1 << (mask.bit_length() - 1)

    def _locked(self, package: int) -> int:
        """The bit of the release that the lock holds, or 0."""
        version = self._universe.root.locked.get(self._universe.packages[package - 1])
        return self._universe.loaded(package).find(version) if version is not None else 0

    # ------------------------------------------------------------------------------------------------ facts

    def _state_facts(self, package: int, bit: int) -> list[Incompatibility]:
        """Turn what one release asks for into incompatibilities; gives those that are new."""
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

        When none can, what follows is stated in the place of the dependency: a proof then tells that reason rather than a
        chance clash with the range of another dependant.
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
        """Why some or all of the releases within a range cannot be chosen; their masks have nothing in common."""
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
                mask &= ~self._locked(package)
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
        """Keep a fact, once."""
        if cause not in self._stated:
            self._stated.add(cause)
            self._keep(Incompatibility(terms, cause), new)

    def _keep(self, incompatibility: Incompatibility, new: list[Incompatibility] | None = None) -> None:
        # Without terms it forbids everything: the project is where that is noticed.
        for package in [package for package, _ in incompatibility.terms] or [ROOT]:
            self._about.setdefault(package, []).append(incompatibility)
        if new is not None:
            new.append(incompatibility)

    # ------------------------------------------------------------------------------------------------ propagation (rule 1)

    def _propagate(self, package: int) -> Incompatibility | None:
        """Derive all that follows from a changed package. Gives the proof when there is no solution."""
        changed = [package]
        while changed:
            current = changed.pop()
            conflict = self._follow_watched(current, changed) or self._follow_facts(current, changed)
            if conflict is not None:
                learned, pivot = self._learn(conflict)
                if learned.is_failure():
                    return learned
                # One term short now, at this package: looking there derives that term's opposite.
                changed = [pivot]
        return None

    def _follow_facts(self, current: int, changed: list[int]) -> Incompatibility | None:
        """Rule 1 for the incompatibilities of at most two terms. Gives one that is satisfied, if any."""
        state = self._solution.state
        about = self._about.get(current, [])
        self._looks += len(about)
        for incompatibility in reversed(about):  # the newest first: what was learned last prunes most
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
        """Rule 1 for the longer ones. Only two of their terms are watched: while both are open, nothing can follow.

        A term is *open* while its package may still satisfy it and may still contradict it. A watch moves to another open
        term when its own is satisfied. It never moves back: going back undoes the newest assignments first, and the terms
        satisfied last are those that were watched last, so they are the first to be open again.
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
                    if len(open_terms) == 2:  # two are enough to know that nothing follows
                        break
                else:
                    if not open_terms:
                        self._watching[current] = kept + watching[place:]  # this one and those not looked at stay
                        return incompatibility
                    self._derive(*open_terms[0], incompatibility, changed)
            if len(open_terms) == 2 and not incompatibility.contradicted:
                packages = [other for other, _ in open_terms]
                partner = incompatibility.partner(current)
                if current not in packages:  # this watch is spent; the partner's may be one of the two
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
        """It cannot come true before the search goes back below this level: no need to look at it."""
        incompatibility.contradicted = True
        self._contradicted.append((self._solution.level, incompatibility))

    # ------------------------------------------------------------------------------------------------ conflict (rule 3)

    def _learn(self, incompatibility: Incompatibility) -> tuple[Incompatibility, int]:
        """Resolve a satisfied incompatibility and jump back.

        Gives what was learned and the package at which it is one term short now, or the proof that all is lost.
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
        """Keep what was learned; watch a long one where it is open soonest: at the pivot and at its last other term."""
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
