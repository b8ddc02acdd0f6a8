"""Forced ranges replace every other range of a package and change nothing else; a proof names them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from rye.resolution.outcome import Solution
from rye.resolution.problem import Exclusion, Root
from rye.resolution.ranges import Range
from rye.resolution.solver import Resolution
from tests.resolution.memory_registry import Graph, MemoryRegistry, Release, project, refusal, releases

GRAPH: Graph = {
    "a": {"1.0.0": Release({"b": "^1"})},
    "c": {"1.0.0": Release({"b": "~1.1"})},
    "b": releases("1.0.0", "1.1.0", "2.0.0", "3.0.0-rc.1"),
}


def forcing(root: Root[str], forced: Mapping[str, str]) -> Root[str]:
    ranges = {package: Range.parse(text) for package, text in forced.items()}
    return replace(root, forced=ranges.get)


def solved(root: Root[str], registry: MemoryRegistry) -> dict[str, str]:
    outcome = Resolution(root, registry).resolve()
    assert isinstance(outcome, Solution)
    return {package: str(version) for package, version in outcome.versions.items()}


@pytest.mark.parametrize(
    ("forced", "version"), [("2.0.0", "2.0.0"), ("<1.1", "1.0.0"), ("*", "2.0.0"), ("3.0.0-rc.1", "3.0.0-rc.1")]
)
def test_it_takes_the_place_of_what_everybody_asks_for(forced: str, version: str) -> None:
    root = forcing(project({"a": "*", "c": "*", "b": "^1"}), {"b": forced})
    assert solved(root, MemoryRegistry(GRAPH))["b"] == version


def test_it_solves_what_has_no_solution_without_it() -> None:
    graph = {**GRAPH, "c": {"1.0.0": Release({"b": "^2"})}}
    root = project({"a": "*", "c": "*"})
    refusal(root, MemoryRegistry(graph))
    assert solved(forcing(root, {"b": "1.1.0"}), MemoryRegistry(graph))["b"] == "1.1.0"


def test_it_adds_nothing_to_the_graph() -> None:
    assert solved(forcing(project({"a": "*"}), {"d": "1.0.0"}), MemoryRegistry(GRAPH)) == {"a": "1.0.0", "b": "1.1.0"}


def test_a_locked_version_stays_where_the_forced_range_has_it() -> None:
    root = forcing(project({"a": "*"}, {"b": "1.0.0"}), {"b": ">=1"})
    assert solved(root, MemoryRegistry(GRAPH))["b"] == "1.0.0"


@pytest.mark.parametrize("reason", list(Exclusion))
def test_what_may_not_be_chosen_may_not_be_forced_either(reason: Exclusion) -> None:
    graph = {**GRAPH, "b": {"1.0.0": Release(), "1.1.0": Release(exclusions={reason: "because"})}}
    found = refusal(forcing(project({"a": "*"}), {"b": "1.1.0"}), MemoryRegistry(graph))
    assert "(forced)" in found.message
    assert any("[overrides] of rye.toml forces b 1.1.0" in hint for hint in found.explanation.hints)


def test_conflicts_hold_against_a_forced_version() -> None:
    graph = {**GRAPH, "c": {"1.0.0": Release({"b": "*"}, {"b": "^2"})}}
    found = refusal(forcing(project({"a": "*", "c": "*"}), {"b": "2.0.0"}), MemoryRegistry(graph))
    assert "conflicts with b ^2" in found.message
    assert "b 2.0.0 (forced)" in found.message


def test_a_proof_that_it_has_no_part_in_does_not_name_it() -> None:
    graph = {**GRAPH, "e": {"1.0.0": Release({"f": "^9"})}, "f": releases("1.0.0")}
    found = refusal(forcing(project({"a": "*", "e": "*"}), {"b": "2.0.0"}), MemoryRegistry(graph))
    assert "forced" not in str(found.explanation)


def test_a_version_that_nobody_released_is_said_of_the_forced_range() -> None:
    found = refusal(forcing(project({"a": "*"}), {"b": "9.9.9"}), MemoryRegistry(GRAPH))
    assert found.explanation.lines[0].startswith(
        "Because a 1.0.0 depends on b 9.9.9 (forced) and no version of b matches 9.9.9"
    )
    assert found.explanation.hints[:2] == (
        "The newest version of b is 2.0.0.",
        "[overrides] of rye.toml forces b 9.9.9, overriding every other range. Change or remove that line.",
    )
