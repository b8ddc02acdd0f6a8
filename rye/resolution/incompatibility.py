"""Incompatibilities: facts of the form "these terms are never all true", with their causes.

The rules of this file:

1. A term says of one package, by its index, that its choice is in a set. The set is an int used as a bitmask over the
   package's known releases (:mod:`rye.resolution.universe`). The infinitely many higher bits of a two's complement
   number mean "not chosen at all": a mask >= 0 means "chosen, and one of these", a negative mask means "not chosen, or
   not one of those". So union, intersection, complement and subset of terms are ``|``, ``&``, ``~`` and ``a & ~b == 0``,
   and -1 says nothing.
2. An incompatibility has at most one term per package, and none that is -1.
3. Every incompatibility except a :class:`Derived` one is a fact from the provider. A derived one is the resolvent of two
   others at one package: their terms for that package are united, the other packages' terms intersected. Whatever
   satisfies it satisfies one of the two.
"""

from __future__ import annotations

from msgspec import Struct

from rye.resolution.problem import Absence, Exclusion
from rye.resolution.ranges import Range

ROOT = 0
"""The index of the project itself; its one release is bit 0."""


class Depends(Struct, frozen=True):
    """The releases ``mask`` of ``package`` all depend on ``target`` within ``range``."""

    package: int
    mask: int
    target: int
    target_mask: int
    range: Range


class Conflicts(Struct, frozen=True):
    """The releases ``mask`` of ``package`` all refuse ``target`` within ``range``."""

    package: int
    mask: int
    target: int
    target_mask: int
    range: Range


class NoVersion(Struct, frozen=True):
    """No release of ``package`` is within ``range``."""

    package: int
    range: Range


class Absent(Struct, frozen=True):
    """``package`` has no releases."""

    package: int
    absence: Absence
    detail: str


class Excluded(Struct, frozen=True):
    """The releases ``mask`` of ``package`` must not be chosen."""

    package: int
    mask: int
    reason: Exclusion
    detail: str


class LacksFeature(Struct, frozen=True):
    """The releases ``mask`` of ``package`` need a feature that the environment does not provide."""

    package: int
    mask: int
    feature: str


class Derived(Struct, frozen=True):
    """Follows from two others (rule 3)."""

    first: Incompatibility
    second: Incompatibility


External = Depends | Conflicts | NoVersion | Absent | Excluded | LacksFeature
Cause = External | Derived


class Incompatibility(Struct, eq=False):
    """``terms``: (package index, mask), ordered by index. The other two fields are the solver's bookkeeping."""

    terms: tuple[tuple[int, int], ...]
    cause: Cause
    contradicted: bool = False
    """Whether it cannot become true at the moment."""
    watched: tuple[int, int] = (-1, -1)
    """The two packages at which a long incompatibility is watched."""

    def partner(self, package: int) -> int:
        """The other package at which it is watched."""
        return self.watched[self.watched[0] == package]

    def is_failure(self) -> bool:
        """Whether it forbids the project itself. The project is always chosen, so then there is no solution."""
        return all(package == ROOT and mask & 1 for package, mask in self.terms)


def resolvent(first: Incompatibility, second: Incompatibility, pivot: int) -> Incompatibility:
    """Rule 3, at ``pivot``. The project's own term is dropped if it is always true; proofs read better without it."""
    terms = dict(first.terms)
    for package, mask in second.terms:
        if package == pivot:
            terms[package] |= mask
        else:
            terms[package] = terms.get(package, -1) & mask
    if terms[pivot] == -1:
        del terms[pivot]
    if len(terms) > 1 and terms.get(ROOT, 0) & 1:
        del terms[ROOT]
    return Incompatibility(tuple(sorted(terms.items())), Derived(first, second))
