"""How fast the solver is on a large registry, solvable and not.

    python benchmarks/solver.py [--packages 10000] [--versions 10] [--chosen 2000]

Both graphs come from a fixed seed: packages in layers, each release depending on a few packages of later layers, some of
them hubs that hundreds depend on, with ranges that rule out a good part of the releases. The unsolvable one hides, deep in the
graph, two packages whose releases need different major versions of a third. The problem has the size of one project:
about ``--chosen`` packages end up in the solution.

Times are the best of three. The *ratio* compares with a plain walk over the same packages in the same run, which takes the
highest release in each range and checks nothing: the least that anything in this language could do. If ``resolvelib`` is
importable it is measured on the solvable graph as well.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rye.resolution.outcome import NeedsMore, Solution, Unsolvable
from rye.resolution.problem import Candidate, Demands, Requirement, Root, Unavailable
from rye.resolution.ranges import Range
from rye.resolution.solver import resolve
from rye.resolution.versions import Version

Graph = dict[str, dict[Version, list[Requirement[str]]]]


class Registry:
    """The whole graph in memory, as a provider."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self._candidates = {name: [Candidate(version) for version in releases] for name, releases in graph.items()}

    def candidates(self, package: str) -> Sequence[Candidate] | Unavailable:
        return self._candidates[package]

    def demands(self, package: str, version: Version) -> Demands[str]:
        return Demands(self.graph[package][version])


def make(packages: int, versions: int, chosen: int, *, solvable: bool) -> tuple[Root[str], Registry]:
    """A registry and a project that needs about ``chosen`` of its packages."""
    random.seed(7)
    choose = random.Random(11)
    numbers = [Version.of(1 + i // 5, i % 5, 0) for i in range(versions)]
    top = numbers[-1].major
    names = [f"team{i % 97}/items/p{i:05}" for i in range(packages)]
    graph: Graph = {}
    for i, name in enumerate(names):
        # The first `chosen` packages depend on each other only; the rest of the registry is never reached.
        end = chosen if i < chosen else packages
        releases: dict[Version, list[Requirement[str]]] = {}
        targets = (
            [t for t in (choose.randint(i + 1, min(end - 1, i + 400)) for _ in range(4)) if t > i]
            if i + 1 < end
            else []
        )
        hubs = [end - 1 - choose.randrange(min(40, end))] if i < end - 400 else []
        for n, version in enumerate(numbers):
            needs = {}
            for t in dict.fromkeys([*targets, *hubs] + ([i + 1] if i + 1 < end else [])):
                # Newer releases need a little more; the newest sometimes need what conflicts with others.
                low = choose.randrange(max(1, n // 3 + 1)) if t not in hubs else 0
                text = f">={numbers[low]}" if choose.random() < 0.7 else f"^{top}" if n >= versions // 2 else ">=1"
                if t not in hubs and choose.random() < 0.02 and n == versions - 1:
                    text = f"<{numbers[-1]}"
                needs[names[t]] = Range.parse(text)
            releases[version] = [Requirement(target, wanted) for target, wanted in needs.items()]
        graph[name] = releases
    if not solvable:
        left, right, bone = names[chosen // 2], names[chosen // 2 + 250], names[chosen - 1]
        for name, wanted in ((left, "^1"), (right, f"^{top}")):
            for needs_of in graph[name].values():
                needs_of[:] = [need for need in needs_of if need.package != bone]
                needs_of.append(Requirement(bone, Range.parse(wanted)))
    return Root(requirements=[Requirement(names[0], Range.parse("*"))]), Registry(graph)


def walk(root: Root[str], registry: Registry) -> int:
    """Take the highest release of each package in the first range found, unchecked; return how many packages were reached."""
    seen: set[str] = set()
    waiting = list(root.requirements)
    while waiting:
        need = waiting.pop()
        if need.package not in seen:
            seen.add(need.package)
            fitting = [c.version for c in registry.candidates(need.package) if c.version in need.range]  # type: ignore[union-attr]
            waiting.extend(registry.graph[need.package][max(fitting)])
    return len(seen)


def best(run: Callable[[], object]) -> float:
    """The best of three times, in seconds."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def resolvelib_run(root: Root[str], registry: Registry) -> Callable[[], object] | None:
    """The same problem for resolvelib, if it is installed."""
    if find_spec("resolvelib") is None:
        return None
    resolvelib: Any = import_module("resolvelib")

    class Adapter(resolvelib.AbstractProvider):  # type: ignore[misc]
        def identify(self, requirement_or_candidate: Any) -> str:
            return str(getattr(requirement_or_candidate, "package", None) or requirement_or_candidate[0])

        def get_preference(self, identifier: str, *_: Any, **__: Any) -> str:
            return identifier

        def find_matches(
            self,
            identifier: str,
            requirements: Mapping[str, Iterator[Any]],
            incompatibilities: Mapping[str, Iterator[Any]],
        ) -> list[tuple[str, Version]]:
            wanted = list(requirements[identifier])
            refused = {version for _, version in incompatibilities[identifier]}
            fitting = [v for v in registry.graph[identifier] if v not in refused and all(v in r.range for r in wanted)]
            return [(identifier, version) for version in sorted(fitting, reverse=True)]

        def is_satisfied_by(self, requirement: Any, candidate: Any) -> bool:
            return candidate[1] in requirement.range

        def get_dependencies(self, candidate: Any) -> list[Requirement[str]]:
            return registry.graph[candidate[0]][candidate[1]]

    def run() -> object:
        return resolvelib.Resolver(Adapter(), resolvelib.BaseReporter()).resolve(
            root.requirements, max_rounds=1_000_000
        )

    return run


def main() -> None:
    arguments = argparse.ArgumentParser(description="Time the solver on generated registries.")
    arguments.add_argument("--packages", type=int, default=10_000)
    arguments.add_argument("--versions", type=int, default=10)
    arguments.add_argument("--chosen", type=int, default=2_000)
    options = arguments.parse_args()

    root, registry = make(options.packages, options.versions, options.chosen, solvable=True)
    solution = resolve(root, registry)
    assert isinstance(solution, Solution)
    solved = best(lambda: resolve(root, registry))
    walked = best(lambda: walk(root, registry))
    print(f"{options.packages} packages of {options.versions} versions, {len(solution.versions)} in the solution")
    print(f"solved               {solved:7.3f} s   {solved / walked:6.1f} x a plain walk ({walked:.3f} s)")
    peer = resolvelib_run(root, registry)
    if peer is not None:
        peer_time = best(peer)
        print(f"resolvelib           {peer_time:7.3f} s   {peer_time / solved:6.1f} x ours")

    root, registry = make(options.packages, options.versions, options.chosen, solvable=False)
    lines: list[str] = []

    def refuse() -> None:
        try:
            outcome: Solution[str] | NeedsMore[str] = resolve(root, registry)
        except Unsolvable as unsolvable:
            lines[:] = unsolvable.explanation.lines
        else:
            raise AssertionError(outcome)

    refused = best(refuse)
    print(
        f"proved unsolvable    {refused:7.3f} s   {refused / walked:6.1f} x a plain walk; proof of {len(lines)} lines, the last:"
    )
    print(f"    {lines[-1]}")


if __name__ == "__main__":
    main()
