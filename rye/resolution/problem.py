"""What the solver's caller provides.

A *package* is any hashable value with a readable, unique ``str`` (:class:`rye.items.identity.Identity` in the client). The
caller answers two questions through a :class:`Provider`; the solver does no I/O. If a package has not been fetched yet, the
provider raises :class:`Missing`, the solver continues with the rest, and :class:`rye.resolution.outcome.NeedsMore` names the
whole wave at once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import Enum
from typing import Generic, Protocol, TypeVar

from msgspec import Struct, field

from rye.resolution.ranges import Range
from rye.resolution.versions import Version

P = TypeVar("P", bound=Hashable)


class Exclusion(Enum):
    """Why an existing version must not be chosen. The value is the stable word for programs."""

    REVOKED = "revoked"
    """Signed with a key that is revoked for this position in the log."""
    TAKEN_DOWN = "taken-down"
    """The registry's owners removed its files."""
    OTHER_SIGNER = "other-signer"
    """Not signed by the keys that the policy requires."""
    SOURCE = "source"
    """From a source or namespace that the policy does not allow."""
    TOO_NEW = "too-new"
    """Younger than ``minimum-release-age``."""
    HELD = "held"
    """The registry that serves it from another one holds it back."""
    YANKED = "yanked"
    """Withdrawn by its publisher. The only reason that a lock overrides."""


class Absence(Enum):
    """Why a package has no versions at all."""

    NOT_FOUND = "not-found"
    """Its registry does not have it."""
    NOT_IN_SOURCE = "not-in-source"
    """Its namespace is a source of the project, and the source does not contain it now."""
    OTHER_REGISTRY = "other-registry"
    """Its namespace is mapped to one registry but the package is in another; there is no fallback across registries."""


class Requirement(Struct, Generic[P], frozen=True):
    """A package and the versions of it that are required (or, as a conflict, refused)."""

    package: P
    range: Range


class Candidate(Struct, frozen=True):
    """One release as its index line describes it. ``exclusions`` maps each reason to a detail for people, or to ``""``."""

    version: Version
    exclusions: Mapping[Exclusion, str] = field(default_factory=dict)


class Unavailable(Struct, frozen=True):
    """Returned instead of candidates if the package has none. ``detail`` is for people, e.g. the registry's name."""

    absence: Absence
    detail: str = ""


class Demands(Struct, Generic[P], frozen=True):
    """What one release requires."""

    dependencies: Sequence[Requirement[P]] = ()
    conflicts: Sequence[Requirement[P]] = ()
    """``conflicts_with``; applies both ways. A conflict with the package itself has no effect: only one version is chosen."""
    missing_features: Sequence[str] = ()
    """``requires`` entries that are neither an item nor in the environment's ``provides``."""


def _nothing_forced(_package: object) -> Range | None:
    return None


class Root(Struct, Generic[P], frozen=True, kw_only=True):
    """The project: its direct requirements, and the versions in its lock."""

    requirements: Sequence[Requirement[P]]
    locked: Mapping[P, Version] = field(default_factory=dict)
    """Preferred if possible; leave out what is to be updated."""
    updated: Mapping[P, Version] = field(default_factory=dict)
    """The locked versions of what is to be updated: not preferred, but a yanked one is used if no other release can be."""
    conflicts: Sequence[Requirement[P]] = ()
    name: str = "your project"
    parts: frozenset[P] = frozenset()
    """Packages that are parts of the project instead of releases, such as the members of a workspace. An explanation names
    them without a version."""
    forced: Callable[[P], Range | None] = _nothing_forced
    """Returns the range that replaces every requested range of a package; None if nothing is forced."""


class Provider(Protocol[P]):
    """The caller's knowledge. Answers must not change while :func:`~rye.resolution.solver.resolve` runs; order is free."""

    def candidates(self, package: P) -> Sequence[Candidate] | Unavailable:
        """Return every release, including excluded ones. Raises Missing if the package has not been fetched yet."""
        ...

    def demands(self, package: P, version: Version) -> Demands[P]:
        """Return what a release requires. Called only for packages with known candidates, at most once per release."""
        ...


class Missing(Exception):
    """Raised by a provider if this package's index must be fetched first."""
