"""How hard the solver works: how many incompatibilities it visits and how many decisions it makes.

Both numbers are exact. They change when propagation misses an incompatibility or visits one again, when decisions are made in a
different order (rule 4), or when a learned incompatibility is forgotten. The solutions alone show none of that.
"""

from __future__ import annotations

import random

import pytest

from rye.resolution.problem import Exclusion, Root
from rye.resolution.solver import _Run
from rye.resolution.universe import Universe
from tests.resolution.memory_registry import Graph, MemoryRegistry, Release, project


def effort(root: Root[str], graph: Graph) -> tuple[int, int, bool]:
    """Incompatibilities visited, packages decided, and whether there is a solution."""
    run = _Run(Universe(root, MemoryRegistry(graph)))
    decided: list[int] = []
    decide = run._decide

    def counted(package: int) -> None:
        decided.append(package)
        decide(package)

    run._decide = counted  # type: ignore[method-assign]
    failure = run.search()
    return run._looks, len(decided), failure is None


def crowd(seed: int, packages: int) -> tuple[Root[str], Graph]:
    """Packages with five releases, each with up to three dependencies and a conflict: most of these problems are hard."""
    dice = random.Random(seed)
    names = [f"acme/p{number:02d}" for number in range(packages)]
    graph: dict[str, dict[str, Release]] = {}
    for name in names:
        graph[name] = {}
        for version in range(1, 6):
            needs = {
                other: f"{dice.choice(('>=', '<='))}{dice.randint(1, 5)}.0.0"
                for other in dice.sample(names, 3)
                if other != name
            }
            refuses = {o: str(dice.randint(1, 5)) for o in dice.sample(names, 1) if o != name and o not in needs}
            graph[name][f"{version}.0.0"] = Release(needs, refuses)
    locked = {name: f"{dice.randint(1, 5)}.0.0" for name in names if dice.random() < 0.2}
    return project(dict.fromkeys(names[:4], "*"), locked), graph


@pytest.mark.parametrize(
    ("seed", "packages", "expected"),
    [
        (138, 14, (11585, 149, True)),
        (131, 14, (9534, 101, True)),
        (67, 14, (7637, 97, True)),
        (34, 14, (12352, 111, False)),
        (105, 14, (11998, 138, False)),
        (4, 14, (720, 38, True)),
        (16, 14, (358, 24, True)),
        (136, 9, (4843, 66, True)),
        (29, 9, (4035, 58, True)),
        (43, 9, (3796, 53, True)),
        (127, 9, (5652, 59, False)),
        (18, 9, (5327, 55, False)),
        (140, 9, (97, 10, True)),
        (1, 9, (90, 10, True)),
        (118, 5, (1577, 29, True)),
        (33, 5, (1467, 28, True)),
        (80, 5, (1424, 28, True)),
        (135, 5, (1631, 30, False)),
        (125, 5, (1299, 22, False)),
        (45, 5, (38, 5, True)),
        (98, 5, (36, 4, True)),
    ],
)
def test_the_search_through_many_conflicts(seed: int, packages: int, expected: tuple[int, int, bool]) -> None:
    assert effort(*crowd(seed, packages)) == expected


_REASONS = tuple(reason for reason in Exclusion if reason is not Exclusion.HELD)
"""The reasons that the numbers below were counted with: for the solver, one is like the other."""


def ruins(seed: int, packages: int) -> tuple[Root[str], Graph]:
    """Packages of which one is missing: releases need features, themselves and versions that no one published, or are
    excluded, so that each reason to refuse a release is met."""
    dice = random.Random(seed)
    names = [f"acme/p{number:02d}" for number in range(packages)]
    graph: dict[str, dict[str, Release]] = {}
    for name in names[:-1]:
        graph[name] = {}
        for version in range(1, 6):
            needs = {
                other: f"{dice.choice(('>=', '<=', '>='))}{dice.randint(1, 6)}.0.0"
                for other in dice.sample(names, 3)
                if other != name or dice.random() < 0.3
            }
            refuses = {o: str(dice.randint(1, 5)) for o in dice.sample(names, 1) if o != name and o not in needs}
            features = ["gpu"] if dice.random() < 0.15 else []
            exclusions: dict[Exclusion, str] = {reason: "" for reason in _REASONS if dice.random() < 0.08}
            graph[name][f"{version}.0.0"] = Release(needs, refuses, features, exclusions)
    locked = {name: f"{dice.randint(1, 5)}.0.0" for name in names if dice.random() < 0.2}
    return project(dict.fromkeys(names[:3], "*"), locked), graph


@pytest.mark.parametrize(
    ("seed", "packages", "expected"),
    [
        (19, 6, (107, 5, False)),
        (2, 6, (3, 0, False)),
        (12, 6, (116, 5, False)),
        (5, 6, (41, 2, False)),
        (16, 9, (3, 0, False)),
        (39, 9, (3, 0, False)),
        (7, 6, (3, 0, False)),
        (20, 6, (315, 11, False)),
    ],
)
def test_the_search_among_releases_that_cannot_be_chosen(
    seed: int, packages: int, expected: tuple[int, int, bool]
) -> None:
    assert effort(*ruins(seed, packages)) == expected
