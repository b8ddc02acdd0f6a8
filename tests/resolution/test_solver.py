"""What the solver chooses, what it fetches, and when it gives up (DESIGN §6)."""

from __future__ import annotations

import runpy
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.items.identity import Identity
from rye.limits import RESOLUTION
from rye.resolution import solver
from rye.resolution.outcome import NeedsMore, Solution, TooHard, Unsolvable
from rye.resolution.problem import Candidate, Demands, Exclusion, Missing, Requirement, Root
from rye.resolution.ranges import Range
from rye.resolution.solver import Resolution, resolve
from rye.resolution.versions import Version
from tests.resolution.memory_registry import MemoryRegistry, Release, chosen, in_waves, project, refusal, releases
from tests.scenes.effort import rest_thorough


class TestChoice:
    def test_nothing_asked_nothing_chosen(self) -> None:
        assert chosen({}, {}) == {}

    def test_the_highest_within_each_range(self) -> None:
        graph = {
            "a": {"1.0.0": Release(), "1.2.0": Release({"b": "<2"}), "2.0.0": Release()},
            "b": releases("1.0.0", "1.9.0", "2.0.0"),
        }
        assert chosen({"a": "^1"}, graph) == {"a": "1.2.0", "b": "1.9.0"}

    def test_one_version_for_all_dependants(self) -> None:
        graph = {
            "a": {"1.0.0": Release({"c": ">=1.1"})},
            "b": {"1.0.0": Release({"c": "<1.3"})},
            "c": releases("1.0.0", "1.1.0", "1.2.0", "1.3.0"),
        }
        assert chosen({"a": "*", "b": "*"}, graph)["c"] == "1.2.0"

    def test_an_older_release_where_the_newest_cannot_be(self) -> None:
        graph = {
            "a": {"1.0.0": Release({"b": "^1"}), "1.1.0": Release({"b": "^2"})},
            "b": releases("1.0.0", "2.0.0"),
            "c": {"1.0.0": Release({"b": "^1"})},
        }
        assert chosen({"a": "*", "c": "*"}, graph) == {"a": "1.0.0", "b": "1.0.0", "c": "1.0.0"}

    def test_cycles_are_fine(self) -> None:
        graph = {"a": {"1.0.0": Release({"b": "^1"})}, "b": {"1.0.0": Release({"a": "^1"})}}
        assert chosen({"a": "*"}, graph) == {"a": "1.0.0", "b": "1.0.0"}

    def test_a_release_may_depend_on_itself_only_within_its_own_version(self) -> None:
        graph = {"a": {"1.0.0": Release({"a": "^1"}), "2.0.0": Release({"a": "^1"})}}
        assert chosen({"a": "*"}, graph) == {"a": "1.0.0"}

    def test_what_is_no_longer_needed_after_a_step_back_is_not_chosen(self) -> None:
        graph = {
            "a": {"1.0.0": Release(), "2.0.0": Release({"b": "*", "c": "*"})},
            "b": releases("1.0.0"),
            "c": {"1.0.0": Release({"b": "^9"})},
        }
        assert chosen({"a": "*"}, graph) == {"a": "1.0.0"}

    def test_prereleases_only_on_request(self) -> None:
        graph = {"a": releases("1.0.0", "1.1.0-rc.1"), "b": {"1.0.0": Release({"a": ">=1.1.0-rc.0"})}}
        assert chosen({"a": "*"}, graph) == {"a": "1.0.0"}
        assert chosen({"a": "^1.1.0-rc.1"}, graph) == {"a": "1.1.0-rc.1"}
        refusal(project({"a": "^1.0.0", "b": "*"}), MemoryRegistry(graph))

    def test_packages_are_any_values_with_a_name(self) -> None:
        tool, directive = Identity("tool", "acme/x/y"), Identity("directive", "acme/x/y")

        class Both:
            def candidates(self, package: Identity) -> list[Candidate]:
                return [Candidate(Version.of(1, 0, 0))]

            def demands(self, package: Identity, version: Version) -> Demands[Identity]:
                return Demands([Requirement(tool, Range.parse("*"))] if package == directive else [])

        outcome = resolve(Root(requirements=[Requirement(directive, Range.parse("^1"))]), Both())
        assert outcome == Solution({directive: Version.of(1, 0, 0), tool: Version.of(1, 0, 0)})

    def test_releases_that_differ_in_build_metadata_are_told_apart(self) -> None:
        graph = {
            "a": {
                "1.0.0+1": Release({"missing": "*"}),
                "1.0.0+2": Release(exclusions={Exclusion.YANKED: ""}),
                "1.0.0+0": Release(),
            }
        }
        assert chosen({"a": "1.0.0"}, graph) == {"a": "1.0.0+0"}
        assert chosen({"a": "1.0.0"}, graph, locked={"a": "1.0.0+2"}) == {"a": "1.0.0+2"}


class TestLock:
    def test_a_locked_version_is_kept(self) -> None:
        assert chosen({"a": "*"}, {"a": releases("1.0.0", "2.0.0")}, locked={"a": "1.0.0"}) == {"a": "1.0.0"}

    def test_unless_it_no_longer_fits(self) -> None:
        graph = {"a": releases("1.0.0", "2.0.0", "2.1.0")}
        assert chosen({"a": "^2"}, graph, locked={"a": "1.0.0"}) == {"a": "2.1.0"}
        assert chosen({"a": "*"}, graph, locked={"a": "3.0.0", "gone": "1.0.0"}) == {"a": "2.1.0"}

    def test_a_yanked_version_is_chosen_only_when_locked(self) -> None:
        graph = {"a": {"1.0.0": Release(), "1.1.0": Release(exclusions={Exclusion.YANKED: ""})}}
        assert chosen({"a": "*"}, graph) == {"a": "1.0.0"}
        assert chosen({"a": "*"}, graph, locked={"a": "1.1.0"}) == {"a": "1.1.0"}

    def test_in_an_update_a_locked_yanked_version_is_the_last_choice(self) -> None:
        yanked = Release(exclusions={Exclusion.YANKED: ""})
        updated = {"a": "1.1.0"}
        assert chosen({"a": "*"}, {"a": {"1.0.0": Release(), "1.1.0": yanked}}, updated=updated) == {"a": "1.0.0"}
        graph = {"a": {"1.0.0": yanked, "1.1.0": yanked}, "b": releases("1.0.0", "2.0.0")}
        found = chosen({"a": "*", "b": "*"}, graph, updated={**updated, "b": "1.0.0"})
        assert found == {"a": "1.1.0", "b": "2.0.0"}
        refusal(project({"a": "1.0.0"}, updated=updated), MemoryRegistry(graph))

    @pytest.mark.parametrize("reason", [Exclusion.REVOKED, Exclusion.TOO_NEW])
    def test_a_lock_forgives_nothing_else(self, reason: Exclusion) -> None:
        graph = {"a": {"1.0.0": Release(), "1.1.0": Release(exclusions={Exclusion.YANKED: "", reason: ""})}}
        assert chosen({"a": "*"}, graph, locked={"a": "1.1.0"}) == {"a": "1.0.0"}


class TestConflictsAndFeatures:
    def test_a_conflict_excludes_in_both_directions(self) -> None:
        graph = {"a": {"1.0.0": Release(), "1.1.0": Release(refuses={"b": "^1"})}, "b": releases("1.0.0")}
        assert chosen({"a": "*", "b": "*"}, graph) == {"a": "1.0.0", "b": "1.0.0"}

    def test_it_does_not_bring_the_other_in(self) -> None:
        graph = {"a": {"1.0.0": Release(refuses={"b": "*", "unknown": "*"})}, "b": releases("1.0.0")}
        assert chosen({"a": "*"}, graph) == {"a": "1.0.0"}

    def test_it_matters_when_the_other_is_met_later(self) -> None:
        graph = {
            "a": {"1.0.0": Release(refuses={"d": ">=2"})},
            "b": {"1.0.0": Release({"d": "*"})},
            "d": releases("1.0.0", "2.0.0"),
        }
        assert chosen({"a": "*", "b": "*"}, graph)["d"] == "1.0.0"

    def test_the_project_may_refuse_too(self) -> None:
        graph = {"a": {"1.0.0": Release({"b": "*"})}, "b": releases("1.0.0", "2.0.0")}
        assert chosen({"a": "*"}, graph, refuses={"b": ">=2"})["b"] == "1.0.0"

    def test_a_conflict_with_other_versions_of_itself_has_no_effect(self) -> None:
        assert chosen({"a": "*"}, {"a": {"1.0.0": Release(refuses={"a": "*"})}}) == {"a": "1.0.0"}

    def test_a_release_that_lacks_a_feature_is_passed_over(self) -> None:
        graph = {"a": {"1.0.0": Release(), "1.1.0": Release(features=["gpu"])}}
        assert chosen({"a": "*"}, graph) == {"a": "1.0.0"}


class TestWaves:
    def test_a_whole_level_is_asked_for_at_once(self) -> None:
        graph = {
            "a": {"1.0.0": Release({"c": "*", "d": "*"})},
            "b": {"1.0.0": Release({"d": "*", "e": "*"})},
            "c": releases("1.0.0"),
            "d": {"1.0.0": Release({"f": "*"})},
            "e": releases("1.0.0"),
            "f": releases("1.0.0"),
        }
        solution, waves = in_waves(project({"b": "*", "a": "*"}), graph)
        assert waves == [("a", "b"), ("c", "d", "e"), ("f",)]
        assert [*solution.versions] == ["a", "b", "c", "d", "e", "f"]

    def test_packages_that_are_only_refused_are_not_fetched(self) -> None:
        assert in_waves(project({"a": "*"}), {"a": {"1.0.0": Release(refuses={"b": "*"})}})[1] == [("a",)]

    def test_a_failure_is_told_only_when_nothing_is_missing(self) -> None:
        """Otherwise the proof would depend on what happens to be in the cache."""
        graph = {
            "a": {"1.0.0": Release({"z": "*"})},
            "b": {"1.0.0": Release({"a": "^2"})},
            "z": {"1.0.0": Release({"a": "^3"})},
        }
        registry = MemoryRegistry(graph, fetched={"a", "b"})
        outcome = Resolution(project({"a": "*", "b": "*"}), registry).resolve()
        assert isinstance(outcome, NeedsMore)

    def test_nothing_is_asked_twice(self) -> None:
        asked: list[str] = []

        class Counting(MemoryRegistry):
            def candidates(self, package: str) -> list[Candidate]:
                answer = super().candidates(package)
                asked.append(package)
                assert isinstance(answer, list)
                return answer

            def demands(self, package: str, version: Version) -> Demands[str]:
                asked.append(f"{package}@{version}")
                return super().demands(package, version)

        registry = Counting({"a": {"1.0.0": Release({"b": "*"})}, "b": releases("1.0.0", "2.0.0")}, fetched=set())
        resolution = Resolution(project({"a": "*"}), registry)
        while isinstance(outcome := resolution.resolve(), NeedsMore):
            assert registry.fetched is not None
            registry.fetched |= set(outcome.packages)
        assert sorted(asked) == ["a", "a@1.0.0", "b", "b@1.0.0", "b@2.0.0"]

    def test_only_missing_means_missing(self) -> None:
        class Broken(MemoryRegistry):
            def candidates(self, package: str) -> list[Candidate]:
                raise KeyError(package)

        with pytest.raises(KeyError):
            resolve(project({"a": "*"}), Broken({}))
        assert issubclass(Missing, Exception)


class TestHostileAuthors:
    def test_a_question_that_is_too_hard_is_given_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The pigeonhole problem, which takes exponential time for every search of this kind."""
        pigeons = 9
        graph = {f"hole{h}": releases(*(f"{p}.0.0" for p in range(1, pigeons + 1))) for h in range(pigeons - 1)}
        for p in range(1, pigeons + 1):
            graph[f"pigeon{p}"] = {f"{h + 1}.0.0": Release({f"hole{h}": f"{p}.0.0"}) for h in range(pigeons - 1)}
        monkeypatch.setattr(solver, "RESOLUTION", replace(RESOLUTION, solver_looks=20_000))
        with pytest.raises(TooHard) as raised:
            resolve(project({f"pigeon{p}": "*" for p in range(1, pigeons + 1)}), MemoryRegistry(graph))
        assert raised.value.code == "resolution-too-hard"
        assert raised.value.hint

    @pytest.mark.slow
    def test_a_chain_of_five_thousand_is_no_recursion(self) -> None:
        length = 5000
        graph = {f"p{n:04}": {"1.0.0": Release({f"p{n + 1:04}": "^1"})} for n in range(length)}
        assert len(chosen({"p0000": "*"}, {**graph, f"p{length}": releases("1.0.0")})) == length + 1
        error = refusal(project({"p0000": "*"}), MemoryRegistry({**graph, f"p{length}": releases("2.0.0")}))
        assert len(error.explanation.lines) <= RESOLUTION.proof_lines + 1

    @pytest.mark.thorough
    def test_a_package_with_many_releases(self) -> None:
        graph = {
            "a": {f"1.{n}.0": Release({"b": f"^{n + 2}"}) for n in range(2000)} | {"0.1.0": Release({"b": "^1"})},
            "b": releases("1.0.0"),
        }
        assert chosen({"a": "*"}, graph) == {"a": "0.1.0", "b": "1.0.0"}


SIZES = pytest.mark.parametrize(
    ("packages", "chosen", "seconds"), rest_thorough(1, [(5_000, 1_000, 3), (10_000, 2_000, 6)])
)


class TestSpeed:
    """10,000 packages of 10 versions, 2,000 of them in the solution: takes half a second; a machine may be ten times slower."""

    make = staticmethod(runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "solver.py"))["make"])

    @pytest.mark.thorough
    @SIZES
    def test_solvable(self, packages: int, chosen: int, seconds: float) -> None:
        root, registry = self.make(packages, 10, chosen, solvable=True)
        start = time.thread_time()
        outcome = resolve(root, registry)
        assert time.thread_time() - start < seconds
        assert isinstance(outcome, Solution)
        assert len(outcome.versions) == chosen
        for name, version in outcome.versions.items():
            assert all(outcome.versions[need.package] in need.range for need in registry.graph[name][version])

    @pytest.mark.thorough
    @SIZES
    def test_unsolvable(self, packages: int, chosen: int, seconds: float) -> None:
        root, registry = self.make(packages, 10, chosen, solvable=False)
        start = time.thread_time()
        with pytest.raises(Unsolvable) as raised:
            resolve(root, registry)
        assert time.thread_time() - start < seconds
        assert raised.value.explanation.lines[-1].endswith("the requirements of your project cannot be met.")
