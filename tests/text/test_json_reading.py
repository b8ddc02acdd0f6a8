"""JSON from people and programs is read strictly, and errors give limits and positions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rye.limits import CONTENT
from rye.text.json_reading import JsonError, read_json
from tests.scenes.person import Person

DEEP = CONTENT.json_depth


@pytest.mark.parametrize("value", [None, True, "a", 1, 1.5, [1, {"a": [2]}], {"[": "{"}])
def test_values(value: Any) -> None:
    import json

    assert read_json(json.dumps(value)) == value
    assert read_json(b"\xef\xbb\xbf" + json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * (DEEP + 1) + "]" * (DEEP + 1), f"nested more than {DEEP} deep"),
        ('{"a":' * (DEEP + 1), f"nested more than {DEEP} deep"),
        ("[" * 1_000_000, f"nested more than {DEEP} deep"),
        ('{"a": 1, "a": 2}', "duplicate key 'a'"),
        ("NaN", "NaN is not a JSON value"),
        ("1e999", "too large"),
        ("9" * 5000, "more than 400 digits"),
        ("{", "at line 1, column 2"),
        (b"\xff", "byte 0 is not UTF-8"),
        ('"' + "\\" * 99_999, "at line 1"),
    ],
)
def test_what_is_refused(text: str | bytes, said: str) -> None:
    with pytest.raises(JsonError, match=said.replace("(", r"\(")):
        read_json(text)


def test_brackets_in_strings_nest_nothing() -> None:
    assert read_json('["' + "[" * 1000 + '\\"["]') == ["[" * 1000 + '"[']
    assert read_json("[" * DEEP + "]" * DEEP) is not None


def test_inputs_and_contexts_that_nest_too_deep_are_refused_with_the_limit(tmp_path: Path) -> None:
    """Both used to print "maximum recursion depth exceeded"."""
    rye = Person(tmp_path)
    rye.new("directive", "ops/deploy")
    for words in (("render", "ops/deploy", "--inputs", "-"), ("hooks", "eval", "ops/deploy", "--context", "-")):
        result = rye.run(*words, "--json", stdin=b'{"a":' * 100_000)
        assert result.code == 2
        assert f"nested more than {DEEP} deep" in result.error["message"]
        assert "recursion" not in result.stdout
