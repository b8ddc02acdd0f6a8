"""An in-memory registry: the provider for the solver's tests, and short ways to write one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rye.resolution.outcome import NeedsMore, Solution, Unsolvable
from rye.resolution.problem import Absence, Candidate, Demands, Exclusion, Missing, Requirement, Root, Unavailable
from rye.resolution.ranges import Range
from rye.resolution.solver import Resolution
from rye.resolution.versions import Version


@dataclass(frozen=True)
class Release:
    """One release: the ranges it needs and refuses, by package, and why it cannot be chosen."""

    needs: Mapping[str, str] = field(default_factory=dict)
    refuses: Mapping[str, str] = field(default_factory=dict)
    features: Sequence[str] = ()
    exclusions: Mapping[Exclusion, str] = field(default_factory=dict)


Graph = Mapping[str, Mapping[str, Release]]


class MemoryRegistry:
    """Answers from ``graph``; other packages are not found. With ``fetched``, only those packages have been fetched."""

    def __init__(self, graph: Graph, fetched: set[str] | None = None, elsewhere: Mapping[str, str] | None = None):
        self.graph = graph
        self.fetched = fetched
        self.elsewhere = elsewhere or {}

    def candidates(self, package: str) -> Sequence[Candidate] | Unavailable:
        if self.fetched is not None and package not in self.fetched:
            raise Missing
        if package in self.elsewhere:
            return Unavailable(Absence.OTHER_REGISTRY, self.elsewhere[package])
        if package not in self.graph:
            return Unavailable(Absence.NOT_FOUND)
        return [Candidate(Version.parse(text), release.exclusions) for text, release in self.graph[package].items()]

    def demands(self, package: str, version: Version) -> Demands[str]:
        release = self.graph[package][str(version)]
        return Demands(requirements(release.needs), requirements(release.refuses), release.features)


def requirements(wanted: Mapping[str, str]) -> list[Requirement[str]]:
    return [Requirement(package, Range.parse(text)) for package, text in wanted.items()]


def project(
    needs: Mapping[str, str],
    locked: Mapping[str, str] | None = None,
    refuses: Mapping[str, str] | None = None,
    updated: Mapping[str, str] | None = None,
) -> Root[str]:
    return Root(
        requirements=requirements(needs),
        locked=_versions(locked),
        conflicts=requirements(refuses or {}),
        updated=_versions(updated),
    )


def _versions(texts: Mapping[str, str] | None) -> dict[str, Version]:
    return {package: Version.parse(text) for package, text in (texts or {}).items()}


def releases(*versions: str) -> dict[str, Release]:
    """Releases without dependencies."""
    return {version: Release() for version in versions}


def chosen(
    needs: Mapping[str, str],
    graph: Graph,
    locked: Mapping[str, str] | None = None,
    refuses: Mapping[str, str] | None = None,
    updated: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The solution, with versions as strings."""
    outcome = Resolution(project(needs, locked, refuses, updated), MemoryRegistry(graph)).resolve()
    assert isinstance(outcome, Solution)
    return {package: str(version) for package, version in outcome.versions.items()}


def refusal(root: Root[str], registry: MemoryRegistry) -> Unsolvable:
    """The error for a problem that must be unsolvable."""
    try:
        outcome = Resolution(root, registry).resolve()
    except Unsolvable as unsolvable:
        return unsolvable
    raise AssertionError(f"solved: {outcome}")


def in_waves(root: Root[str], graph: Graph) -> tuple[Solution[str], list[tuple[str, ...]]]:
    """The solution when nothing has been fetched at first, and the waves of fetches that it took."""
    registry = MemoryRegistry(graph, fetched=set())
    resolution = Resolution(root, registry)
    waves: list[tuple[str, ...]] = []
    while isinstance(outcome := resolution.resolve(), NeedsMore):
        assert registry.fetched is not None
        assert not registry.fetched & set(outcome.packages)
        waves.append(outcome.packages)
        registry.fetched |= set(outcome.packages)
    return outcome, waves
