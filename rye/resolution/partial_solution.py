"""The choices made so far and what follows from them, in order, so that they can be taken back.

The rules of this file:

1. Each assignment says of one package that its choice is in a mask: a *decision* (one release) or a *derivation* from
   an incompatibility whose other terms are all true.
2. ``state[package]`` is the intersection of the package's assignments, never empty; -1 while nothing is said.
3. A term is *satisfied* when the state lies within it, *contradicted* when they share nothing, else undecided.
4. Levels count decisions; the project is chosen at level 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rye.resolution.incompatibility import Incompatibility


class Assignment(Struct, frozen=True):
    package: int
    mask: int
    """What this assignment alone says."""
    state: int
    """The package's state with it."""
    level: int
    cause: Incompatibility | None
    """None: a decision."""


class PartialSolution:
    """A stack of assignments. Lists are indexed by package and grow with :meth:`make_room`."""

    def __init__(self) -> None:
        self.state: list[int] = []
        self.decided: list[bool] = []
        self.level = 0
        self._trail: list[Assignment] = []
        self._history: list[list[int]] = []
        """For each package, the places of its assignments in the trail."""

    def make_room(self, packages: int) -> None:
        while len(self.state) < packages:
            self.state.append(-1)
            self.decided.append(False)
            self._history.append([])

    def derive(self, package: int, mask: int, cause: Incompatibility) -> None:
        self._assign(package, mask, cause)

    def decide(self, package: int, bit: int, level: int) -> None:
        self.level = level
        self.decided[package] = True
        self._assign(package, bit, None)

    def _assign(self, package: int, mask: int, cause: Incompatibility | None) -> None:
        self.state[package] &= mask
        self._history[package].append(len(self._trail))
        self._trail.append(Assignment(package, mask, self.state[package], self.level, cause))

    def backtrack(self, level: int) -> set[int]:
        """Take back everything above ``level``; gives the packages whose state changed."""
        changed = set()
        while self._trail and self._trail[-1].level > level:
            undone = self._trail.pop()
            history = self._history[undone.package]
            history.pop()
            self.state[undone.package] = self._trail[history[-1]].state if history else -1
            if undone.cause is None:
                self.decided[undone.package] = False
            changed.add(undone.package)
        self.level = level
        return changed

    def satisfier(self, incompatibility: Incompatibility) -> tuple[Assignment, int]:
        """The assignment that completed a satisfied incompatibility, and the highest level of what it needed beside itself.

        That level is where the incompatibility was one assignment short of being satisfied: where to jump back to.
        """
        latest = -1
        earlier = 0
        wanted = -1
        for package, mask in incompatibility.terms:
            place = self._first_within(package, ~mask)
            if place > latest:
                if latest >= 0:
                    earlier = max(earlier, self._trail[latest].level)
                latest, wanted = place, mask
            else:
                earlier = max(earlier, self._trail[place].level)
        found = self._trail[latest]
        if found.mask & ~wanted:
            # The assignment alone is too weak; the package's earlier ones had a part in it.
            needed = self._first_within(found.package, found.mask & ~wanted)
            earlier = max(earlier, self._trail[needed].level)
        return found, earlier

    def last_satisfied(self, terms: Sequence[tuple[int, int]]) -> int:
        """The package among satisfied terms whose term became true last."""
        return max(terms, key=lambda term: self._first_within(term[0], ~term[1]))[0]

    def _first_within(self, package: int, outside: int) -> int:
        """The place of the first assignment after which the package's state has nothing in common with ``outside``."""
        history, trail = self._history[package], self._trail
        low, high = 0, len(history) - 1
        while low < high:
            middle = (low + high) // 2
            if trail[history[middle]].state & outside:
                low = middle + 1
            else:
                high = middle
        return history[low]
