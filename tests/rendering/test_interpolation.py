"""Values in text: formats, precedence, one pass (DECISIONS Directives 8, 9; DESIGN §8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.rendering.interpolation import MissingValue, interpolate, missing_values, text_of


def filled(text: str, **values: object) -> str:
    result, missing = interpolate(text, values)
    assert missing == ()
    return result


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a b", "a b"),
        (True, "true"),
        (False, "false"),
        (None, ""),
        (5, "5"),
        (0.5, "0.5"),
        ({"a": [1, "ü", None]}, '{"a":[1,"ü",null]}'),
        ([], "[]"),
        ("", ""),
        (float("nan"), ""),
    ],
)
def test_formats(value: object, text: str) -> None:
    assert text_of(value) == text
    assert filled("<{input:x}>", x=value) == f"<{text}>"


def test_a_value_goes_before_the_placeholders_own_default() -> None:
    assert filled("{input:a:x} {input:a|x} {input:a?}", a="v") == "v v v"
    assert filled("{input:a:x} {input:a|y:z|} {input:a?}|{input:a:}") == "x y:z| |"
    assert filled("{input:a:x}", a=None) == "", "null is a value"
    assert filled("{input:a:x}", a="") == ""


def test_what_a_value_brings_in_is_never_expanded() -> None:
    assert filled("{input:a}{input:b}", a="{input:b}", b="{input:a}") == "{input:b}{input:a}"
    assert filled("{input:{input:a}}", a="b") == "{input:b}"
    assert filled("{in{input:a}}", a="put:b") == "{input:b}"
    assert filled("{input:x:{input:a}}", a="v") == "{input:a}"


def test_missing_values_have_their_lines() -> None:
    text = "one\n{input:a} {input:b:two\nlines} {input:c?}\n{input:d}{input:a}"
    result, missing = interpolate(text, {}, range(10, 20))
    assert missing == (MissingValue("a", 11), MissingValue("d", 13), MissingValue("a", 13))
    assert result == "one\n{input:a} two\nlines \n{input:d}{input:a}"
    error = missing_values(missing)
    assert error.code == "missing-input"
    assert "{input:a} on line 11" in error.message
    assert "{input:d} on line 13" in error.message
    assert error.hint is not None
    assert "--input a=" in error.hint


def test_an_unknown_first_line_gives_no_lines() -> None:
    assert interpolate("\n{input:a}", {})[1] == (MissingValue("a", None),)


@given(st.text(), st.text())
def test_text_without_placeholders_is_verbatim(text: str, value: str) -> None:
    if "{input:" not in text:
        assert filled(text + "{input:a}" + text, a=value) == text + value + text
