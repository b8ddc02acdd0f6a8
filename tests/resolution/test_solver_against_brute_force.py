"""The solver compared with a brute-force search, on thousands of small random registries (DESIGN §6, §10).

For each registry: a solution is found exactly when one exists, and it is valid and has no unneeded packages. When none exists,
every step of the proof follows from what it cites, and every fact is true of the registry. The order of the registry's answers
and what has already been fetched do not change a word.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rye.resolution.incompatibility import (
    ROOT,
    Absent,
    Conflicts,
    Depends,
    Derived,
    Excluded,
    External,
    Incompatibility,
    LacksFeature,
    NoVersion,
)
from rye.resolution.outcome import NeedsMore, Solution, Unsolvable
from rye.resolution.problem import Exclusion, Root
from rye.resolution.ranges import Range
from rye.resolution.solver import Resolution
from rye.resolution.versions import Version
from tests.resolution.memory_registry import Graph, MemoryRegistry, Release, in_waves, project
from tests.scenes.effort import tries

K = TypeVar("K")
V = TypeVar("V")

PACKAGES = ("acme/a", "acme/b", "acme/c", "acme/d", "acme/e")
VERSIONS = ("1.0.0", "1.1.0", "2.0.0-rc.1", "2.0.0", "2.1.0+b1", "3.0.0")
RANGES = (
    "*",
    "^1",
    "^2",
    "~1.1",
    ">=1.1",
    "<2",
    "1.0.0",
    "1.1.0 || 3",
    ">=2.0.0-rc.1",
    "^9",
    "<3",
    "2.x",
    "2.0.0-rc.1",
)
SEEDS = tries(600, 20_000)


def random_graph(seed: int) -> tuple[Root[str], dict[str, dict[str, Release]]]:
    """A small registry, dense enough that about half of the problems have no solution."""
    dice = random.Random(seed)
    names = list(PACKAGES[: dice.randint(2, 5)])
    known = names if dice.random() < 0.9 else names[:-1]
    density = dice.choice((0.2, 0.35, 0.5))

    def needs(share: float) -> dict[str, str]:
        return {name: dice.choice(RANGES) for name in names if dice.random() < share}

    graph = {}
    for name in known:
        graph[name] = {
            version: Release(
                needs(density),
                needs(0.06),
                ("gpu",) if dice.random() < 0.03 else (),
                {reason: "" for reason in Exclusion if dice.random() < 0.03},
            )
            for version in VERSIONS
            if dice.random() < 0.75
        }
    locked = {name: dice.choice(VERSIONS) for name in names if dice.random() < 0.3}
    wanted, refused = needs(0.6), needs(0.05)
    updated = {name: dice.choice(VERSIONS) for name in names if name not in locked and dice.random() < 0.5}
    return project(wanted, locked, refused, updated), graph


def valid_choices(root: Root[str], graph: Graph) -> Iterator[dict[str, str]]:
    """Every valid choice in which each package is needed, found by brute force."""

    def usable(name: str, version: str) -> bool:
        release = graph[name][version]
        forgiven = version in (str(root.locked.get(name)), str(root.updated.get(name)))
        return not release.features and not (set(release.exclusions) - ({Exclusion.YANKED} if forgiven else set()))

    def extend(choice: dict[str, str], open_needs: list[tuple[str, Range]]) -> Iterator[dict[str, str]]:
        if not open_needs:
            if fits(root, graph, choice):
                yield choice
            return
        (name, wanted), *rest = open_needs
        if name in choice:
            if Version.parse(choice[name]) in wanted:
                yield from extend(choice, rest)
            return
        for version, release in graph.get(name, {}).items():
            if Version.parse(version) in wanted and usable(name, version):
                more = [(target, Range.parse(text)) for target, text in release.needs.items()]
                yield from extend({**choice, name: version}, rest + more)

    yield from extend({}, [(need.package, need.range) for need in root.requirements])


def fits(root: Root[str], graph: Graph, choice: Mapping[str, str]) -> bool:
    """Whether no chosen release refuses another chosen one."""
    refusals = [("", r.package, r.range) for r in root.conflicts]
    refusals += [(n, t, Range.parse(text)) for n, v in choice.items() for t, text in graph[n][v].refuses.items()]
    return not any(n != t and t in choice and Version.parse(choice[t]) in wanted for n, t, wanted in refusals)


def shuffled(root: Root[str], graph: Graph, seed: int) -> tuple[Root[str], Graph]:
    dice = random.Random(seed)

    def mix(table: Mapping[K, V]) -> dict[K, V]:
        items = list(table.items())
        dice.shuffle(items)
        return dict(items)

    mixed = {
        name: mix(
            {v: Release(mix(r.needs), mix(r.refuses), r.features, mix(r.exclusions)) for v, r in versions.items()}
        )
        for name, versions in mix(graph).items()
    }
    requirements = list(root.requirements)
    dice.shuffle(requirements)
    conflicts = list(reversed(root.conflicts))
    return Root(
        requirements=requirements, locked=mix(root.locked), conflicts=conflicts, updated=mix(root.updated)
    ), mixed


def answer(resolve: Callable[[], Solution[str] | NeedsMore[str]]) -> Solution[str] | Unsolvable:
    try:
        outcome = resolve()
    except Unsolvable as unsolvable:
        return unsolvable
    assert isinstance(outcome, Solution)
    return outcome


def check(seed: int) -> bool:
    """Check all properties for one registry and return whether it has a solution."""
    root, graph = random_graph(seed)
    choices = list(valid_choices(root, graph))
    resolution = Resolution(root, MemoryRegistry(graph))
    outcome = answer(resolution.resolve)
    other_root, other_graph = shuffled(root, graph, seed)
    again = answer(Resolution(other_root, MemoryRegistry(other_graph)).resolve)
    slowly = answer(lambda: in_waves(root, graph)[0])
    if isinstance(outcome, Unsolvable):
        assert choices == []
        check_proof(outcome.root_cause, resolution.universe.names, root, graph)
        assert isinstance(again, Unsolvable)
        assert isinstance(slowly, Unsolvable)
        assert again.explanation == slowly.explanation == outcome.explanation
        return False
    assert {name: str(version) for name, version in outcome.versions.items()} in choices
    assert list(outcome.versions) == sorted(outcome.versions)
    assert again == slowly == outcome
    return True


def check_proof(root_cause: Incompatibility, names: Sequence[str], root: Root[str], graph: Graph) -> None:
    """Check that derived steps follow from the two they cite, facts are true, and the conclusion is about the project."""
    assert root_cause.is_failure()
    seen: set[int] = set()
    waiting = [root_cause]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node.cause, Derived):
            parts = (node.cause.first, node.cause.second)
            packages = sorted({package for part in (node, *parts) for package, _ in part.terms} - {ROOT})
            # Each release or range bit of a package, or (the bit far above) the package not chosen at all.
            for bits in product([*(1 << n for n in range(12)), 1 << 99], repeat=len(packages)):
                world = {**dict(zip(packages, bits, strict=True)), ROOT: 1}
                assert not holds(node, world) or any(holds(part, world) for part in parts)
            waiting.extend(parts)
        else:
            check_fact(node, node.cause, names, root, graph)


def holds(node: Incompatibility, world: Mapping[int, int]) -> bool:
    return all(world[package] & mask for package, mask in node.terms)


def check_fact(node: Incompatibility, fact: External, names: Sequence[str], root: Root[str], graph: Graph) -> None:
    name = names[fact.package]
    versions = sorted(graph.get(name, {}), key=Version.parse)

    def asked(table: str) -> list[dict[object, str]]:
        if fact.package == ROOT:
            said = root.requirements if table == "needs" else root.conflicts
            return [{need.package: str(need.range) for need in said}]
        assert isinstance(fact, Depends | Conflicts | LacksFeature | Excluded)
        return [dict(getattr(graph[name][v], table)) for bit, v in enumerate(versions) if fact.mask >> bit & 1]

    def within(package: int, wanted: Range) -> int:
        known = sorted(graph.get(names[package], {}), key=Version.parse)
        return sum(1 << bit for bit, v in enumerate(known) if Version.parse(v) in wanted)

    if isinstance(fact, Depends | Conflicts):
        table = "needs" if isinstance(fact, Depends) else "refuses"
        assert asked(table)
        assert all(said.get(names[fact.target]) == str(fact.range) for said in asked(table))
        real = within(fact.target, fact.range)
        assert fact.target_mask == real or (not real and fact.target_mask >> len(graph.get(names[fact.target], {})))
        terms = dict(node.terms)
        if fact.target == fact.package:
            assert terms == {fact.package: fact.mask & ~fact.target_mask}
        else:
            sign = ~fact.target_mask if isinstance(fact, Depends) else fact.target_mask
            assert terms == {fact.package: fact.mask, fact.target: sign}
    elif isinstance(fact, NoVersion):
        assert not within(fact.package, fact.range)
        assert len(node.terms) == 1
        assert node.terms[0][1] >> len(versions)
    elif isinstance(fact, Absent):
        assert name not in graph
    elif isinstance(fact, LacksFeature):
        assert node.terms == ((fact.package, fact.mask),)
        assert all(fact.feature in graph[name][v].features for bit, v in enumerate(versions) if fact.mask >> bit & 1)
    else:
        assert node.terms == ((fact.package, fact.mask),)
        assert all(fact.reason in said for said in asked("exclusions"))


class TestAgainstBruteForce:
    @pytest.mark.slow
    def test_thousands_of_seeded_registries(self) -> None:
        solved = sum(check(seed) for seed in range(SEEDS))
        assert SEEDS * 0.2 < solved < SEEDS * 0.8

    @settings(max_examples=200, deadline=None)
    @given(st.integers(min_value=SEEDS, max_value=2**63))
    def test_any_seed(self, seed: int) -> None:
        check(seed)


class TestPreferences:
    def test_a_lock_that_still_holds_is_kept_whole(self) -> None:
        kept = 0
        for seed in range(SEEDS // 4):
            root, graph = random_graph(seed)
            choices = list(valid_choices(root, graph))
            if choices:
                locked = random.Random(seed).choice(choices)
                versions = {name: Version.parse(text) for name, text in locked.items()}
                outcome = Resolution(replace(root, locked=versions, updated={}), MemoryRegistry(graph)).resolve()
                assert outcome == Solution(versions)
                kept += 1
        assert kept > SEEDS // 20

    def test_where_the_highest_of_everything_fits_together_it_is_chosen(self) -> None:
        fitting = 0
        for seed in range(SEEDS // 2):
            root, graph = random_graph(seed)
            fresh = replace(root, locked={}, updated={})
            highest = {name: max(versions, key=Version.parse) for name, versions in graph.items() if versions}
            for choice in valid_choices(fresh, graph):
                if all(highest[name] == version for name, version in choice.items()):
                    outcome = Resolution(fresh, MemoryRegistry(graph)).resolve()
                    assert outcome == Solution({name: Version.parse(text) for name, text in sorted(choice.items())})
                    fitting += 1
        assert fitting > SEEDS // 50
