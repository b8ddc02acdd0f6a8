"""The choices made so far and their consequences, in order, so that they can be undone.

The rules of this file:

1. Each assignment says of one package that its choice is in a mask. It is either a *decision* (one release) or a
   *derivation* from an incompatibility whose other terms are all true.
2. ``state[package]`` is the intersection of the package's assignments, never empty; -1 while nothing is known.
3. A term is *satisfied* if the state is within it, *contradicted* if they have nothing in common, otherwise undecided.
4. Levels count decisions; the project is chosen at level 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rye.resolution.incompatibility import Incompatibility


class Assignment(Struct, frozen=True):
    """One entry of the trail: what became known about one package, and why."""

    package: int
    mask: int
    """What this assignment alone says."""
    state: int
    """The package's state including this assignment."""
    level: int
    cause: Incompatibility | None
    """None for a decision."""


class PartialSolution:
    """A stack of assignments. Lists are indexed by package and grow with :meth:`make_room`."""

    def __init__(self) -> None:
        self.state: list[int] = []
        self.decided: list[bool] = []
        self.level = 0
        self._trail: list[Assignment] = []
        self._history: list[list[int]] = []
        """For each package, the indexes of its assignments in the trail."""

    def make_room(self, packages: int) -> None:
        """Extend the lists to this many packages."""
        while len(self.state) < packages:
            self.state.append(-1)
            self.decided.append(False)
            self._history.append([])

    def derive(self, package: int, mask: int, cause: Incompatibility) -> None:
        """Add what follows from ``cause``."""
        self._assign(package, mask, cause)

    def decide(self, package: int, bit: int, level: int) -> None:
        """Choose one release and start a new level."""
        self.level = level
        self.decided[package] = True
        self._assign(package, bit, None)

    def _assign(self, package: int, mask: int, cause: Incompatibility | None) -> None:
        self.state[package] &= mask
        self._history[package].append(len(self._trail))
        self._trail.append(Assignment(package, mask, self.state[package], self.level, cause))

    def backtrack(self, level: int) -> set[int]:
        """Undo everything above ``level``. Returns the packages whose state changed."""
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
        """Return the assignment that completed a satisfied incompatibility, and the highest level of the others that it needed.

        At that level, the incompatibility was one assignment short of being satisfied; the search jumps back there.
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
            # This assignment alone is too weak; earlier ones of the package contributed.
            needed = self._first_within(found.package, found.mask & ~wanted)
            earlier = max(earlier, self._trail[needed].level)
        return found, earlier

    def last_satisfied(self, terms: Sequence[tuple[int, int]]) -> int:
        """Return the package whose term, among satisfied terms, became true last."""
        return max(terms, key=lambda term: self._first_within(term[0], ~term[1]))[0]

    def _first_within(self, package: int, outside: int) -> int:
        """The index of the first assignment after which the package's state has nothing in common with ``outside``."""
        history, trail = self._history[package], self._trail
        low, high = 0, len(history) - 1
        while low < high:
            middle = (low + high) // 2
            if trail[history[middle]].state & outside:
                low = middle + 1
            else:
                high = middle
        return history[low]
