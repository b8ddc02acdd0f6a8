"""Reading text as a value of a declared type, and checking JSON values strictly (DECISIONS Directives 14)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.items.directive.input_values import INPUT_TYPES, checked, compact_json, from_text


@pytest.mark.parametrize(
    ("input_type", "text", "value"),
    [
        ("string", "", ""),
        ("string", " 5 ", " 5 "),
        ("integer", "120", 120),
        ("integer", "-7", -7),
        ("integer", "+007", 7),
        ("boolean", "true", True),
        ("boolean", "False", False),
        ("object", '{"a": [1, null]}', {"a": [1, None]}),
        ("array", "[]", []),
    ],
)
def test_text_is_converted(input_type: str, text: str, value: object) -> None:
    converted = from_text(input_type, text)
    assert converted == value
    assert type(converted) is type(value)


@pytest.mark.parametrize(
    ("input_type", "text"),
    [
        *(("integer", text) for text in ("", "5.0", "1e3", "0x10", "1_000", "٣", "five", "9" * 401)),
        *(("boolean", text) for text in ("", "1", "yes", "on", "truee")),
        *(
            ("object", text)
            for text in ("", "[]", "{", "null", '{"a":1,"a":2}', '{"a": NaN}', '{"a": Infinity}', '{"a": "\\ud800"}')
        ),
        *(("array", text) for text in ("{}", "1,2", '"[]"', "[1,]", "[" * 100_000)),
        ("number", "1"),
        ("string", "\ud800"),
    ],
)
def test_other_text_is_refused(input_type: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|unknown type|twice|not JSON|surrogate|deeply"):
        from_text(input_type, text)


@pytest.mark.parametrize(
    ("input_type", "value"),
    [
        *(("integer", value) for value in ("5", 5.0, True, None)),
        *(("boolean", value) for value in ("true", 1, 0)),
        *(("string", value) for value in (5, True, None, ["a"])),
        ("object", []),
        ("object", "{}"),
        ("object", None),
        ("array", {}),
        ("array", "[]"),
    ],
)
def test_json_values_have_their_type_exactly(input_type: str, value: object) -> None:
    with pytest.raises(ValueError, match=r"expected an? "):
        checked(input_type, value)


def test_compact_json_keeps_order_and_letters() -> None:
    assert compact_json({"b": [1, True, None, "ü€"], "a": {}}) == '{"b":[1,true,null,"ü€"],"a":{}}'


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_a_value_has_one_type_at_most_and_comes_back_from_its_text(value: object) -> None:
    fitting = []
    for input_type in INPUT_TYPES:
        try:
            assert checked(input_type, value) is value
        except ValueError:
            continue
        fitting.append(input_type)
        text = value if isinstance(value, str) else json.dumps(value)
        assert from_text(input_type, text) == value
    assert len(fitting) == (0 if value is None or isinstance(value, float) else 1)
