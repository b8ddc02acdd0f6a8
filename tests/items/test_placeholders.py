"""The four placeholder forms, and what only looks like one (DECISIONS Directives 8)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.items.directive.placeholders import Placeholder, find, is_input_name


@pytest.mark.parametrize(
    ("text", "name", "optional", "default"),
    [
        ("{input:name}", "name", False, None),
        ("{input:name?}", "name", True, None),
        ("{input:timeout:120}", "timeout", False, "120"),
        ("{input:dir|outputs}", "dir", False, "outputs"),
        ("{input:a:b:c}", "a", False, "b:c"),
        ("{input:a|b|c:d}", "a", False, "b|c:d"),
        ("{input:a:}", "a", False, ""),
        ("{input:a|}", "a", False, ""),
        ("{input:a:x?}", "a", False, "x?"),
        ("{input:a:{x}", "a", False, "{x"),
        ("{input:a: two words }", "a", False, " two words "),
        ("{input:_A9}", "_A9", False, None),
    ],
)
def test_the_four_forms(text: str, name: str, optional: bool, default: str | None) -> None:
    assert find(text) == [Placeholder(0, len(text), name, optional, default)]
    assert find(text)[0].required is (not optional and default is None)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "{input:}",
            "{input: name}",
            "{input:name }",
            "{input:9a}",
            "{input:na-me}",
            "{input:na.me}",
            "{inputs:name}",
        ),
        *("{ input:name}", "{INPUT:name}", "input:name", "{input:name", "{input:name?:x}", "{input:a:never closed"),
        *("{input:näme}", "{env:HOME}", "${name}", "{name}"),
    ],
)
def test_everything_else_is_text(text: str) -> None:
    assert find(text) == []


def test_a_placeholder_inside_a_default_is_no_placeholder() -> None:
    assert find("{input:a:{input:b}}") == [Placeholder(0, 18, "a", False, "{input:b")]


def test_several_stand_in_order() -> None:
    found = find("x {input:a}{input:b?} {{input:c}} {input:bad-} {input:d|e}")
    assert [p.name for p in found] == ["a", "b", "c", "d"]


def test_hostile_repetition_is_linear() -> None:
    started = time.thread_time()
    assert find("{input:a:" * 30_000) == []
    assert find("{input:" * 30_000) == []
    assert len(find("{input:a:" * 30_000 + "}")) == 1
    assert time.thread_time() - started < 2


@given(st.text(alphabet="{}input:ab?|\n ", max_size=40))
def test_placeholders_are_disjoint_and_spelled_as_found(text: str) -> None:
    end = 0
    for placeholder in find(text):
        assert placeholder.start >= end
        end = placeholder.end
        assert text[placeholder.start : end].startswith("{input:" + placeholder.name)
        assert text[end - 1] == "}"
        assert is_input_name(placeholder.name)
