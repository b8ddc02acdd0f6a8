"""Rule 4 of the solver, the order of decisions: when not every package can have its highest release, the earlier one gets it."""

from __future__ import annotations

from itertools import permutations

import pytest
from msgspec.structs import replace

from rye.limits import RESOLUTION
from rye.resolution.outcome import Solution
from rye.resolution.solver import Resolution
from tests.resolution.memory_registry import Graph, MemoryRegistry, Release, chosen, project, releases


def against(other: str) -> dict[str, Release]:
    """Releases 1 and 2; release 2 conflicts with release 2 of another package."""
    return {"1.0.0": Release(), "2.0.0": Release(refuses={other: "2"})}


@pytest.mark.parametrize(("direct", "carrier", "brought"), list(permutations(["acme/a", "acme/m", "acme/z"])))
def test_what_the_project_asks_for_gets_its_highest_before_what_that_brings_along(
    direct: str, carrier: str, brought: str
) -> None:
    graph = {direct: against(brought), carrier: {"1.0.0": Release({brought: "*"})}, brought: releases("1.0.0", "2.0.0")}
    assert chosen({direct: "*", carrier: "*"}, graph) == {direct: "2.0.0", carrier: "1.0.0", brought: "1.0.0"}


@pytest.mark.parametrize(("near", "far"), [("acme/a", "acme/z"), ("acme/z", "acme/a")])
def test_what_is_met_first_gets_its_highest_first(near: str, far: str) -> None:
    """``near`` is needed by a direct dependency, ``far`` by a dependency of that dependency."""
    graph = {
        "acme/m": {"1.0.0": Release({near: "*", "acme/n": "*"})},
        "acme/n": {"1.0.0": Release({far: "*"})},
        near: releases("1.0.0", "2.0.0"),
        far: against(near),
    }
    found = chosen({"acme/m": "*"}, graph)
    assert (found[near], found[far]) == ("2.0.0", "1.0.0")


def test_what_the_project_asks_for_is_met_in_the_order_of_names_however_it_is_written() -> None:
    graph = {"acme/a": releases("1.0.0", "2.0.0"), "acme/b": against("acme/a"), "acme/c": against("acme/b")}
    for names in permutations(graph):
        for answering in permutations(graph):
            found = chosen(dict.fromkeys(names, "*"), {name: graph[name] for name in answering})
            assert found == {"acme/a": "2.0.0", "acme/b": "1.0.0", "acme/c": "2.0.0"}


def test_what_a_release_asks_for_is_met_in_the_order_of_names_however_it_is_written() -> None:
    for names in permutations(["acme/b", "acme/c", "acme/d"]):
        graph = {
            "acme/a": {"1.0.0": Release(dict.fromkeys(names, "*"))},
            "acme/b": releases("1.0.0", "2.0.0"),
            "acme/c": against("acme/b"),
            "acme/d": against("acme/c"),
        }
        found = chosen({"acme/a": "*"}, graph)
        assert found == {"acme/a": "1.0.0", "acme/b": "2.0.0", "acme/c": "1.0.0", "acme/d": "2.0.0"}


def without_a_step_back(needs: dict[str, str], graph: Graph, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The solution, found without a conflict: the solver would give up at the first one."""
    monkeypatch.setattr("rye.resolution.solver.RESOLUTION", replace(RESOLUTION, solver_looks=0))
    outcome = Resolution(project(needs), MemoryRegistry(graph)).resolve()
    assert isinstance(outcome, Solution)
    return {name: str(version) for name, version in outcome.versions.items()}


def test_a_package_with_one_release_left_comes_before_any_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its demands are known before a package with several candidates is decided, so the solver never has to backtrack."""
    graph = {
        "acme/a": releases("1.0.0", "2.0.0"),
        "acme/b": {"1.0.0": Release(refuses={"acme/a": "2"})},
    }
    assert without_a_step_back({"acme/a": "*", "acme/b": "*"}, graph, monkeypatch) == {
        "acme/a": "1.0.0",
        "acme/b": "1.0.0",
    }


def test_also_when_only_one_release_is_left_within_the_range(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = {
        "acme/a": releases("1.0.0", "2.0.0"),
        "acme/b": {"1.0.0": Release(), "2.0.0": Release({"acme/a": "1"}), "3.0.0": Release()},
    }
    found = without_a_step_back({"acme/a": "*", "acme/b": "2"}, graph, monkeypatch)
    assert found == {"acme/a": "1.0.0", "acme/b": "2.0.0"}


def test_also_when_a_decision_leaves_only_one_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """``a`` is decided first and leaves one ``c``, whose demand on ``b`` is then known before ``b`` is decided."""
    graph = {
        "acme/a": {"1.0.0": Release(), "2.0.0": Release({"acme/c": "1"})},
        "acme/b": releases("1.0.0", "2.0.0"),
        "acme/c": {"1.0.0": Release({"acme/b": "1"}), "2.0.0": Release()},
    }
    found = without_a_step_back({"acme/a": "*", "acme/b": "*", "acme/c": "*"}, graph, monkeypatch)
    assert found == {"acme/a": "2.0.0", "acme/b": "1.0.0", "acme/c": "1.0.0"}


def test_a_package_that_was_taken_back_is_decided_again_in_its_turn() -> None:
    """The highest ``a`` is impossible; its demands are dropped, and the others get their highest after the new ``a``."""
    graph = {
        "acme/a": {"1.0.0": Release(), "2.0.0": Release({"acme/c": "*"})},
        "acme/b": against("acme/d"),
        "acme/c": {"1.0.0": Release({"acme/d": "9"}), "2.0.0": Release({"acme/d": "9"})},
        "acme/d": releases("1.0.0", "2.0.0"),
    }
    found = chosen({"acme/a": "*", "acme/b": "*", "acme/d": "*"}, graph)
    assert found == {"acme/a": "1.0.0", "acme/b": "2.0.0", "acme/d": "1.0.0"}


@pytest.mark.parametrize("locked", ["1.0.0", "2.0.0"])
def test_the_order_does_not_depend_on_the_lock_only_the_releases_do(locked: str) -> None:
    graph = {
        "acme/a": releases("1.0.0", "2.0.0"),
        "acme/b": {"1.0.0": Release(), "2.0.0": Release(refuses={"acme/a": "2"})},
    }
    found = chosen({"acme/a": "*", "acme/b": "*"}, graph, locked={"acme/a": locked})
    assert found == {"acme/a": locked, "acme/b": "2.0.0" if locked == "1.0.0" else "1.0.0"}
