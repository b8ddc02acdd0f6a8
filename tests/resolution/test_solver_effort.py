"""How the solver searches, not only what it finds: the incompatibilities that it looks at and the decisions that it makes.

Both numbers are exact. They change when propagation misses something or looks twice, when a decision is taken in another
order (rule 4), or when what was learned is forgotten; the answers alone show none of that.
"""

from __future__ import annotations

import random

import pytest

from rye.resolution.problem import Root
from rye.resolution.solver import _Run
from rye.resolution.universe import Universe
from tests.resolution.memory_registry import Graph, MemoryRegistry, Release, project
from tests.resolution.test_solver_against_brute_force import random_graph


def effort(root: Root[str], graph: Graph) -> tuple[int, int, bool]:
    """Incompatibilities looked at, packages decided, and whether there is a solution."""
    run = _Run(Universe(root, MemoryRegistry(graph)))
    decided: list[int] = []
    decide = run._decide

    def counted(package: int) -> None:
        decided.append(package)
        decide(package)

    run._decide = counted  # type: ignore[method-assign]
    failure = run.search()
    return run._looks, len(decided), failure is None


def crowd(seed: int) -> tuple[Root[str], Graph]:
    """Fourteen packages in five releases, each with up to three dependencies and a conflict: most questions are hard."""
    dice = random.Random(seed)
    names = [f"acme/p{number:02d}" for number in range(14)]
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
    return project(dict.fromkeys(names[:4], "*")), graph


@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        (138, (11585, 149, True)),
        (131, (9534, 101, True)),
        (4, (8285, 138, True)),
        (67, (7045, 98, True)),
        (34, (12295, 115, False)),
        (29, (10968, 131, False)),
        (44, (772, 35, True)),
        (16, (358, 24, True)),
    ],
)
def test_the_search_through_many_conflicts(seed: int, expected: tuple[int, int, bool]) -> None:
    assert effort(*crowd(seed)) == expected


@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        (2949, (417, 16, False)),
        (1735, (351, 15, False)),
        (496, (300, 12, True)),
        (1652, (255, 13, True)),
        (2999, (202, 12, True)),
        (2040, (161, 10, False)),
        (2869, (144, 8, False)),
        (120, (136, 9, True)),
        (352, (134, 11, True)),
        (2373, (129, 8, False)),
        (2390, (20, 1, False)),
        (2017, (16, 2, False)),
        (2417, (14, 3, True)),
        (388, (13, 2, False)),
    ],
)
def test_the_search_through_a_small_registry(seed: int, expected: tuple[int, int, bool]) -> None:
    assert effort(*random_graph(seed)) == expected
