"""The exact text of the solver's explanations. Hints are separate from the proof (DESIGN §6)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from rye.limits import RESOLUTION
from rye.resolution.explanation import Explanation
from rye.resolution.problem import Exclusion
from tests.resolution.memory_registry import Graph, MemoryRegistry, Release, project, refusal, releases


def told(needs: Mapping[str, str], graph: Graph, elsewhere: Mapping[str, str] | None = None) -> Explanation:
    return refusal(project(needs), MemoryRegistry(graph, elsewhere=elsewhere)).explanation


class TestVersionConflicts:
    def test_both_chains_are_named_and_the_conclusion_is_last(self) -> None:
        graph = {
            "acme/a": {"1.2.0": Release({"acme/b": "^2"})},
            "acme/c": {"1.0.0": Release({"acme/b": "^1"})},
            "acme/b": releases("1.0.0", "2.0.0"),
        }
        first, last = told({"acme/a": "^1", "acme/c": "^1"}, graph).lines
        assert first == (
            "Because acme/a 1.2.0 depends on acme/b ^2 and acme/c 1.0.0 depends on acme/b ^1, "
            "acme/a 1.2.0 is incompatible with acme/c 1.0.0."
        )
        assert last == (
            "And because your project depends on acme/a ^1 and on acme/c ^1, "
            "the requirements of your project cannot be met."
        )

    def test_a_chain_of_dependencies_is_one_sentence(self) -> None:
        graph = {
            "a": {"1.0.0": Release({"b": "^1"})},
            "b": {"1.0.0": Release({"c": "^1"})},
            "c": releases("1.0.0", "2.0.0"),
        }
        assert told({"a": "*", "c": "^2"}, graph).lines == (
            "Because a 1.0.0 depends on b ^1, which depends on c ^1, a 1.0.0 requires c ^1.",
            "And because your project depends on a and on c ^2, the requirements of your project cannot be met.",
        )

    def test_releases_with_the_same_dependency_are_one_fact(self) -> None:
        same, other = Release({"b": "^2"}), Release({"c": "^2"})
        graph = {
            "a": {"1.0.0": other, "1.1.0": same, "1.2.0-rc.1": Release(), "1.2.0": same, "2.0.0": other},
            "b": releases("1.0.0"),
            "c": releases("1.0.0"),
        }
        text = "\n".join(told({"a": "*"}, graph).lines)
        assert "Because a >=1.1.0, <2.0.0 depends on b ^2 and no version of b matches ^2, " in text
        assert "Because a 1.0.0 || 2.0.0 depends on c ^2 and no version of c matches ^2, " in text

    def test_every_version_is_said_of_all_that_is_known(self) -> None:
        graph = {
            "a": {v: Release({"b": "^2"}) for v in ("1.0.0", "1.1.0")},
            "b": {"1.0.0": Release(), "2.0.0": Release({"c": "^1"})},
            "c": releases("1.0.0", "2.0.0"),
        }
        assert told({"a": "*", "c": "^2"}, graph).lines[0] == (
            "Because every version of a depends on b ^2, which depends on c ^1, every version of a requires c ^1."
        )

    def test_shared_causes_are_proved_once_and_cited_by_number(self) -> None:
        graph = {
            "foo": {"1.0.0": Release({"a": "^1", "b": "^1"}), "1.1.0": Release({"x": "^1", "y": "^1"})},
            "a": {"1.0.0": Release({"b": "^2"})},
            "b": releases("1.0.0", "2.0.0"),
            "x": {"1.0.0": Release({"y": "^2"})},
            "y": releases("1.0.0", "2.0.0"),
        }
        lines = told({"foo": "^1"}, graph).lines
        assert lines == (
            "Because foo 1.0.0 depends on a ^1, which depends on b ^2, foo 1.0.0 requires b ^2.",
            "(1) And because foo 1.0.0 depends on b ^1, foo 1.0.0 cannot be used.",
            "Because foo 1.1.0 depends on x ^1, which depends on y ^2, foo 1.1.0 requires y ^2.",
            "And because foo 1.1.0 depends on y ^1, foo 1.1.0 cannot be used.",
            "And because foo 1.0.0 cannot be used (1), no version of foo can be used.",
            "And because your project depends on foo ^1, the requirements of your project cannot be met.",
        )

    def test_two_requirements_of_the_project_itself(self) -> None:
        graph = {"a": {"1.0.0": Release({"b": "^1"})}, "b": releases("1.0.0", "2.0.0")}
        assert told({"a": "1.0.0", "b": "2.0.0"}, graph).lines == (
            "Because your project depends on a 1.0.0, which depends on b ^1, b ^1 is required.",
            "And because your project depends on b 2.0.0, the requirements of your project cannot be met.",
        )


class TestOtherCauses:
    def conclusion(
        self, needs: Mapping[str, str], graph: Graph, elsewhere: Mapping[str, str] | None = None
    ) -> tuple[str, str]:
        """The reason on the only line, and the first hint."""
        explanation = told(needs, graph, elsewhere)
        (line,) = explanation.lines
        reason = line.removeprefix("Because your project depends on a ^1 and ")
        return reason.removesuffix(", the requirements of your project cannot be met."), explanation.hints[0]

    def test_no_version(self) -> None:
        reason, hint = self.conclusion({"a": "^1"}, {"a": releases("0.9.0", "0.10.0", "0.11.0-rc.1")})
        assert reason == "no version of a matches ^1"
        assert hint == "The newest version of a is 0.10.0."

    def test_only_prereleases(self) -> None:
        reason, hint = self.conclusion({"a": "^1"}, {"a": releases("0.9.0", "1.1.0-rc.1")})
        assert reason == "no version of a matches ^1"
        assert hint == "Only pre-releases of a are within ^1; to accept one, write ^1.1.0-rc.1."

    def test_only_prereleases_of_the_lower_bound(self) -> None:
        _, hint = self.conclusion({"a": "^1"}, {"a": releases("0.9.0", "1.0.0-alpha", "2.0.0-alpha")})
        assert hint == "Only pre-releases of a are within ^1; to accept one, write ^1.0.0-alpha."

    def test_yanked(self) -> None:
        reason, hint = self.conclusion({"a": "^1"}, {"a": {"1.0.0": Release(exclusions={Exclusion.YANKED: "leaks"})}})
        assert reason == "a 1.0.0 was yanked (leaks)"
        assert "No other version of a can be installed" in hint
        assert "rye.lock" in hint

    def test_no_other_range_is_advised_where_every_version_was_yanked(self) -> None:
        graph = {version: Release(exclusions={Exclusion.YANKED: ""}) for version in ("1.0.0", "1.1.0")}
        assert not any("range" in hint for hint in told({"a": "^1"}, {"a": graph}).hints)

    def test_a_yank_names_the_command_that_takes_the_newest_version(self) -> None:
        graph: Graph = {
            "a": {"1.0.0": Release(exclusions={Exclusion.YANKED: ""}), "1.1.0": Release(), "2.0.0": Release()}
        }
        assert "`rye add a@^2.0.0`" in told({"a": "1.0.0"}, graph).hints[0]

    def test_of_what_another_item_needs_a_yank_names_the_version_alone(self) -> None:
        graph: Graph = {
            "a": {"1.0.0": Release(exclusions={Exclusion.YANKED: ""}), "2.0.0": Release()},
            "b": {"1.0.0": Release({"a": "1.0.0"})},
        }
        hint = told({"b": "^1"}, graph).hints[0]
        assert "2.0.0" in hint
        assert "rye add" not in hint

    def test_too_new(self) -> None:
        reason, hint = self.conclusion(
            {"a": "^1"}, {"a": {"1.0.0": Release(exclusions={Exclusion.TOO_NEW: "2 h of 72 h"})}}
        )
        assert reason == "a 1.0.0 is younger than minimum-release-age (2 h of 72 h)"
        assert "minimum-release-age" in hint

    def test_revoked_is_told_before_yanked(self) -> None:
        both = Release(exclusions={Exclusion.YANKED: "", Exclusion.REVOKED: ""})
        reason, hint = self.conclusion({"a": "^1"}, {"a": {"1.0.0": both}})
        assert reason == "a 1.0.0 was signed with a revoked key"
        assert "publisher" in hint

    def test_not_found(self) -> None:
        reason, hint = self.conclusion({"a": "^1"}, {})
        assert reason == "a was not found"
        assert hint == "Check the spelling of a: rye search a"

    def test_another_registry(self) -> None:
        reason, hint = self.conclusion({"a": "^1"}, {}, elsewhere={"a": "https://registry.example"})
        assert reason == "a is not in the registry that its namespace is mapped to (https://registry.example)"
        assert "[registries]" in hint

    def test_a_missing_feature(self) -> None:
        explanation = told({"a": "^1"}, {"a": {"1.0.0": Release(features=["gpu"])}})
        assert "\n".join(explanation.lines) == (
            "Because your project depends on a ^1 and a 1.0.0 needs gpu, which the environment does not provide, "
            "the requirements of your project cannot be met."
        )
        assert (
            explanation.hints[0] == 'If the environment has gpu, add "gpu" to provides under [environment] in rye.toml.'
        )

    def test_conflicts_with(self) -> None:
        graph = {"a": {"1.0.0": Release(refuses={"b": "^1"})}, "b": releases("1.0.0")}
        assert "a 1.0.0 conflicts with b ^1" in told({"a": "^1", "b": "*"}, graph).lines[0]

    def test_several_causes_at_once(self) -> None:
        graph = {
            "a": {
                "1.0.0": Release(exclusions={Exclusion.YANKED: ""}),
                "1.1.0": Release(exclusions={Exclusion.TOO_NEW: ""}),
                "1.2.0": Release({"z": "*"}),
            }
        }
        text = "\n".join(told({"a": "^1"}, graph).lines)
        for said in ("a 1.0.0 was yanked", "a 1.1.0 is younger than", "a 1.2.0 depends on z", "z was not found"):
            assert said in text


class TestForm:
    def test_hints_are_apart_from_the_proof(self) -> None:
        explanation = told({"a": "^1"}, {})
        assert explanation.hints[-1] == "Your project asks for a ^1: another range may help."
        assert not any(hint in line for hint in explanation.hints for line in explanation.lines)
        assert str(explanation).endswith("hint: Your project asks for a ^1: another range may help.")

    def test_the_error_carries_the_proof_for_people_and_programs(self) -> None:
        error = refusal(project({"a": "^1"}), MemoryRegistry({}))
        assert (error.code, error.exit_code) == ("unsolvable", 1)
        document = error.as_json()["error"]
        assert isinstance(document, dict)
        assert document["explanation"] == [error.message] == list(error.explanation.lines)
        assert document["hints"] == list(error.explanation.hints)

    def test_many_scattered_releases_are_counted_rather_than_listed(self) -> None:
        graph = {
            "a": {f"1.{n}.0": Release({"b": "^2"} if n % 2 else {"c": "^2"}) for n in range(40)},
            "b": releases("1.0.0"),
            "c": {},
        }
        text = "\n".join(told({"a": "*"}, graph).lines)
        assert "20 of 40" in text
        assert max(map(len, text.splitlines())) < 300

    @pytest.mark.slow
    def test_a_long_proof_says_what_it_leaves_out(self) -> None:
        graph = {
            "a": {f"1.{n}.0": Release({f"b{n}": "*", "c": f"^{n + 2}"}) for n in range(400)},
            "c": releases("1.0.0"),
        }
        graph |= {f"b{n}": {"1.0.0": Release({"d": f"{n}.0.0"})} for n in range(400)}
        graph |= {"d": releases("500.0.0")}
        lines = told({"a": "*"}, graph).lines
        assert len(lines) == RESOLUTION.proof_lines + 1
        assert lines[0].endswith("earlier steps are omitted.)")
        assert lines[-1].endswith("the requirements of your project cannot be met.")
