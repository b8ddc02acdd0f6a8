"""Irrelevant additions to a registry change neither the solution nor a proof.

An addition is irrelevant when no release that could be chosen depends on it. It can be as broken or hostile as it likes: it
can need packages that don't exist, or refuse everything that the project uses.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rye.resolution.outcome import Solution, Unsolvable
from rye.resolution.problem import Exclusion, Root
from rye.resolution.solver import Resolution
from tests.resolution.memory_registry import Graph, MemoryRegistry, Release
from tests.resolution.test_solver_against_brute_force import PACKAGES, RANGES, VERSIONS, answer, random_graph
from tests.scenes.effort import tries

SEEDS = tries(300, 5_000)
STRANGERS = ("acme/0-first", "acme/bb", "zzz/last", "evil/a")
"""Their names sort before, between and after the others, since the order of names must not matter either."""


def with_strangers(graph: Graph, seed: int) -> dict[str, dict[str, Release]]:
    """The registry plus packages that nothing depends on, but that need and refuse packages of the registry."""
    dice = random.Random(seed)
    grown = {name: dict(releases) for name, releases in graph.items()}
    for name in STRANGERS:
        grown[name] = {
            version: Release(
                needs={other: dice.choice(RANGES) for other in dice.sample((*PACKAGES, *STRANGERS, "no/such"), 3)},
                refuses=dict.fromkeys(dice.sample(PACKAGES, 2), "*"),
                features=("teleport",) if dice.random() < 0.3 else (),
                exclusions={Exclusion.REVOKED: ""} if dice.random() < 0.2 else {},
            )
            for version in dice.sample(VERSIONS, 3)
        }
    shuffled = list(grown.items())
    dice.shuffle(shuffled)
    return dict(shuffled)


def with_dead_releases(graph: Graph, seed: int) -> dict[str, dict[str, Release]]:
    """The registry plus one revoked release of each package, with a random dependency."""
    dice = random.Random(seed)
    return {
        name: {
            **releases,
            "0.0.1": Release(needs={dice.choice(PACKAGES): dice.choice(RANGES)}, exclusions={Exclusion.REVOKED: ""}),
        }
        for name, releases in graph.items()
    }


def same(root: Root[str], graph: Graph, grown: Graph) -> bool:
    """Compare both answers word for word and return whether there was a solution."""
    before = answer(Resolution(root, MemoryRegistry(graph)).resolve)
    after = answer(Resolution(root, MemoryRegistry(grown)).resolve)
    if isinstance(before, Unsolvable):
        assert isinstance(after, Unsolvable)
        assert after.explanation == before.explanation
        return False
    assert after == before
    return True


@pytest.mark.slow
def test_packages_that_nobody_needs_change_neither_choice_nor_proof() -> None:
    solved = sum(same(*case, with_strangers(case[1], seed)) for seed in range(SEEDS) for case in [random_graph(seed)])
    assert SEEDS * 0.2 < solved < SEEDS * 0.8


@settings(max_examples=100, deadline=None)
@given(st.integers(min_value=SEEDS, max_value=2**63))
def test_packages_that_nobody_needs_at_any_seed(seed: int) -> None:
    root, graph = random_graph(seed)
    same(root, graph, with_strangers(graph, seed))


def test_a_release_that_may_not_be_chosen_changes_no_choice() -> None:
    """A proof may name such a release as a reason. Whether there is a solution, and which one, does not change."""
    for seed in range(SEEDS):
        root, graph = random_graph(seed)
        before = answer(Resolution(root, MemoryRegistry(graph)).resolve)
        after = answer(Resolution(root, MemoryRegistry(with_dead_releases(graph, seed))).resolve)
        assert isinstance(after, Unsolvable) == isinstance(before, Unsolvable), seed
        assert isinstance(before, Unsolvable) or after == before, seed


@pytest.mark.parametrize("seed", range(5))
def test_a_solution_that_is_locked_stays_when_newer_releases_come(seed: int) -> None:
    """Because of the lock, additions to needed packages are irrelevant as well."""
    locked = 0
    for number in range(seed * 100, seed * 100 + 100):
        root, graph = random_graph(number)
        before = answer(Resolution(root, MemoryRegistry(graph)).resolve)
        if isinstance(before, Solution):
            grown = {name: {**releases, "9.9.9": Release(needs={"no/such": "*"})} for name, releases in graph.items()}
            kept = replace(root, locked=before.versions, updated={})
            assert answer(Resolution(kept, MemoryRegistry(grown)).resolve) == before
            locked += 1
    assert locked > 10
