"""What the caller of the solver says.

A *package* is any hashable value with a readable, unique ``str`` (:class:`rye.items.identity.Identity` in the client). The caller
answers two questions through a :class:`Provider`; the solver does no I/O. When a package has not been fetched yet,
the provider raises :class:`Missing`, the solver goes on with the rest, and
:class:`rye.resolution.outcome.NeedsMore` names the whole level at once.
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
    """Why a version that exists may not be chosen. The value is the stable word for programs."""

    REVOKED = "revoked"
    """Signed with a key that is revoked for this position of the log."""
    TAKEN_DOWN = "taken-down"
    """Its registry's owners took files of it away."""
    OTHER_SIGNER = "other-signer"
    """Not signed by a key that the policy requires."""
    SOURCE = "source"
    """From a source that the policy does not allow."""
    TOO_NEW = "too-new"
    """Younger than ``minimum-release-age``."""
    YANKED = "yanked"
    """Taken back by its publisher. The only one that a lock forgives."""


class Absence(Enum):
    """Why a package has no versions at all."""

    NOT_FOUND = "not-found"
    """Its registry does not have it."""
    NOT_IN_SOURCE = "not-in-source"
    """Its namespace is a source of the project, and what that has today does not have it."""
    OTHER_REGISTRY = "other-registry"
    """Its namespace is mapped to one registry but the package is in another; there is no fall-back across registries."""


class Requirement(Struct, Generic[P], frozen=True):
    """A package and the versions of it that are needed (or, as a conflict, refused)."""

    package: P
    range: Range


class Candidate(Struct, frozen=True):
    """One release as its index line tells it. ``exclusions`` maps each reason to a detail for people, or to ``""``."""

    version: Version
    exclusions: Mapping[Exclusion, str] = field(default_factory=dict)


class Unavailable(Struct, frozen=True):
    """Instead of candidates: the package has none. ``detail`` for people, e.g. the registry's name."""

    absence: Absence
    detail: str = ""


class Demands(Struct, Generic[P], frozen=True):
    """What one release asks for."""

    dependencies: Sequence[Requirement[P]] = ()
    conflicts: Sequence[Requirement[P]] = ()
    """``conflicts_with``: works both ways. One with the package itself has no effect: only one version of it is ever chosen."""
    missing_features: Sequence[str] = ()
    """``requires`` entries that are neither an item nor in the environment's ``provides``."""


def _nothing_forced(_package: object) -> Range | None:
    return None


class Root(Struct, Generic[P], frozen=True):
    """The project: what it asks for directly, and what its lock holds."""

    requirements: Sequence[Requirement[P]]
    locked: Mapping[P, Version] = field(default_factory=dict)
    """Preferred while nothing speaks against it; leave out what is to be updated."""
    conflicts: Sequence[Requirement[P]] = ()
    name: str = "your project"
    parts: frozenset[P] = frozenset()
    """Packages that are no releases but parts of the project, such as the members of a workspace: an explanation names them
    without a version."""
    forced: Callable[[P], Range | None] = _nothing_forced
    """The range that takes the place of every range that is asked of a package; None where nothing is forced."""


class Provider(Protocol[P]):
    """The caller's knowledge. Answers must not change during one :func:`~rye.resolution.solver.resolve`; their order is free."""

    def candidates(self, package: P) -> Sequence[Candidate] | Unavailable:
        """Every release, the excluded ones too. Raises Missing when the package is not fetched yet."""
        ...

    def demands(self, package: P, version: Version) -> Demands[P]:
        """What a release asks for. Called only for packages whose candidates are known, and at most once per release."""
        ...


class Missing(Exception):
    """Raised by a provider: this package's index has to be fetched first."""
