"""Typed inputs from a command line and from JSON (DECISIONS Directives 14)."""

from __future__ import annotations

import pytest

from rye.errors import RyeError, UsageError
from rye.items.directive.input_values import InputDeclaration
from rye.rendering.inputs import parse_assignments, resolve

NAME = InputDeclaration("name", "string", required=True)
TIMEOUT = InputDeclaration("timeout", "integer", default="120")
SKIP = InputDeclaration("skip_tests", "boolean", default="false")
TAGS = InputDeclaration("tags", "array")
OPTIONS = InputDeclaration("options", "object")
ALL = (NAME, TIMEOUT, SKIP, TAGS, OPTIONS)


def problems(error: RyeError) -> dict[str, str]:
    listed = error.details["problems"]
    assert isinstance(listed, list)
    return {problem["input"]: problem["message"] for problem in listed}


def test_text_is_converted_by_the_declared_type() -> None:
    texts = {"name": "5", "timeout": "7", "skip_tests": "true", "tags": '["a"]', "options": "{}"}
    assert resolve(ALL, texts) == {"name": "5", "timeout": 7, "skip_tests": True, "tags": ["a"], "options": {}}


def test_declared_defaults_apply_and_optional_inputs_may_be_absent() -> None:
    assert resolve(ALL, {"name": "x"}) == {"name": "x", "timeout": 120, "skip_tests": False}


def test_a_required_input_with_a_default_has_a_value() -> None:
    declaration = InputDeclaration("a", "string", required=True, default="")
    assert resolve([declaration]) == {"a": ""}


def test_text_counts_over_json() -> None:
    assert resolve(ALL, {"name": "flag"}, {"name": "file", "timeout": 5})["name"] == "flag"


def test_json_is_strict() -> None:
    with pytest.raises(RyeError) as caught:
        resolve(ALL, None, {"name": 5, "timeout": "5", "skip_tests": 1, "tags": {}, "options": []})
    assert set(problems(caught.value)) == {"name", "timeout", "skip_tests", "tags", "options"}
    assert problems(caught.value)["timeout"] == 'expected an integer, not the string "5"'


def test_null_is_a_value_of_an_optional_input_only() -> None:
    assert resolve(ALL, None, {"name": "x", "timeout": None})["timeout"] is None
    with pytest.raises(RyeError, match="name expected a string, not null"):
        resolve(ALL, None, {"name": None})


def test_all_problems_are_reported_together_with_did_you_mean() -> None:
    with pytest.raises(RyeError) as caught:
        resolve(ALL, {"timeuot": "5", "skip_tests": "maybe"}, {"zzz": 1})
    found = problems(caught.value)
    assert found["name"] == "is required (string)"
    assert found["timeuot"] == "is not declared; did you mean timeout?"
    assert found["zzz"] == "is not declared"
    assert "true or false" in found["skip_tests"]
    assert caught.value.exit_code == 1


def test_a_bad_declared_default_is_named_as_such() -> None:
    with pytest.raises(RyeError, match="has the default 'soon'"):
        resolve([InputDeclaration("timeout", "integer", default="soon")])


def test_assignments() -> None:
    assert parse_assignments(["a=1", "b=", "c=x=y", "d= z "]) == {"a": "1", "b": "", "c": "x=y", "d": " z "}


@pytest.mark.parametrize("words", [["a"], ["=1"], ["a=1", "a=2"], [""]])
def test_malformed_assignments_are_usage_errors(words: list[str]) -> None:
    with pytest.raises(UsageError):
        parse_assignments(words)
