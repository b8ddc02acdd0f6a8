"""YAML 1.2 core, and what a malicious author would write (DECISIONS Agents 1, 12; DESIGN §5 Content)."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.limits import CONTENT
from rye.text.yaml_reading import YamlError, core_value, json_safe, read_yaml
from tests.scenes.effort import rest_thorough, tries

EXAMPLES = tries(100, 2000)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("off", "off"),
        ("y", "y"),
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("tRUE", "tRUE"),
        ("null", None),
        ("~", None),
        ("", None),
        ("nULL", "nULL"),
        ("012", 12),
        ("0o17", 15),
        ("0O17", "0O17"),
        ("0x1F", 31),
        ("0b11", "0b11"),
        ("-0", 0),
        ("+7", 7),
        ("1_000", "1_000"),
        ("190:20:30", "190:20:30"),
        ("3e5", 300000.0),
        ("20.0", 20.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("1.2.3", "1.2.3"),
        ("1.0", 1.0),
        (".inf", float("inf")),
        ("-.INF", float("-inf")),
        ("2026-02-18T00:00:00Z", "2026-02-18T00:00:00Z"),
        ("2026-02-18", "2026-02-18"),
        ("=", "="),
        ("٣", "٣"),
    ],
)
def test_plain_scalars_follow_the_core_schema(text: str, value: Any) -> None:
    found = read_yaml(f"key: {text}").value["key"]
    assert found == value
    assert type(found) is type(value)


def test_not_a_number_is_read_and_never_reaches_json() -> None:
    value = read_yaml("a: .nan\nb: [.inf, -.inf]").value
    assert json.loads(json.dumps(json_safe(value), allow_nan=False)) == {"a": ".nan", "b": [".inf", "-.inf"]}


def test_quoted_scalars_are_texts() -> None:
    assert read_yaml("a: '1'\nb: \"true\"\nc: |\n  2\n").value == {"a": "1", "b": "true", "c": "2\n"}


def test_the_strings_schema_keeps_scalars_as_written() -> None:
    assert read_yaml("version: 1.10\nname: on\nnone: ~\nempty:\n", schema="strings").value == {
        "version": "1.10",
        "name": "on",
        "none": "~",
        "empty": "",
    }


def test_merge_keys_are_ordinary_and_never_merged() -> None:
    assert read_yaml("base: &b {x: 1}\nuse:\n  <<: *b\n  y: 2").value["use"] == {"<<": {"x": 1}, "y": 2}


def test_keys_are_the_text_as_written() -> None:
    assert read_yaml("1: a\ntrue: b\n~: c").value == {"1": "a", "true": "b", "~": "c"}


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a: 1\nb: 2\na: 3", 3, 1, "duplicate key 'a', first on line 1"),
        ("a:\n  b: 1\n  b: 2", 3, 3, "duplicate key"),
        ("1: a\n'1': b", 2, 1, "duplicate key"),
        ("{a: 1, a: 2}", 1, 8, "duplicate key"),
        ("a: !!str x", 1, 4, "tags"),
        ("a: !!python/object:os.system x", 1, 4, "tags"),
        ("!x\na: 1", 1, 1, "tags"),
        ("%YAML 1.1\n---\na: 1", 2, 1, "directives"),
        ("a: 1\n---\nb: 2", 2, 1, "second YAML document"),
        ("? [a]\n: b", 1, 3, "key must be plain text"),
        ("x: &a 1\n*a : b", 2, 1, "alias cannot be a key"),
        ("a: *missing", 1, 4, "not name a finished anchor"),
        ("&a [*a]", 1, 5, "not name a finished anchor"),
        ("a: b: c", 1, 5, "not allowed"),
        ("a: 'x", 1, 6, "quoted"),
        ("\ta: 1", 1, 1, "tab"),
    ],
)
def test_errors_name_place_and_reason(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(YamlError) as caught:
        read_yaml(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert words in caught.value.message or words == "tab"


def test_lines_are_the_files_not_the_blocks() -> None:
    document = read_yaml("a: 1\nb:\n  - c\n  - d: 2\n", first_line=10)
    assert document.line("b", 1, "d") == 13
    assert document.line("b", 1, "missing", "deeper") == 13
    assert document.position("a") == (10, 1)
    with pytest.raises(YamlError) as caught:
        read_yaml("a: 1\na: 2", first_line=10)
    assert caught.value.line == 11


def test_aliases_are_values_and_reported_as_features() -> None:
    document = read_yaml("a: &x [1, 2]\nb: *x")
    assert document.value == {"a": [1, 2], "b": [1, 2]}
    assert document.features == (("flow collection", 1), ("anchor", 1), ("alias", 2))


def _bomb(levels: int, width: int) -> str:
    lines = ["a0: &a0 [x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(("levels", "width"), [(9, 9), (7, 9), (30, 2), (3, 200)])
def test_alias_bombs_are_refused_before_they_grow(levels: int, width: int) -> None:
    started = time.thread_time()
    with pytest.raises(YamlError):
        read_yaml(_bomb(levels, width))
    assert time.thread_time() - started < 4


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "{a: " * 50_000, "- " * 50_000, "".join(" " * n + "a:\n" for n in range(400))]
)
def test_depth_is_capped_without_recursion(text: str) -> None:
    started = time.thread_time()
    with pytest.raises(YamlError, match=r"nested|expected|found|mapping"):
        read_yaml(text)
    assert time.thread_time() - started < 4


def test_the_deepest_allowed_nesting_is_read() -> None:
    depth = CONTENT.yaml_depth
    assert read_yaml("[" * depth + "]" * depth).value is not None
    with pytest.raises(YamlError, match="nested more than"):
        read_yaml("[" * (depth + 1) + "]" * (depth + 1))


@pytest.mark.parametrize("escape", ["\\u200b", "\\ud800", "\\0", "\\u202e", "\\xad", "\\e", "\\U000E0041"])
def test_escapes_cannot_write_what_the_file_may_not_hold(escape: str) -> None:
    with pytest.raises(YamlError, match="an escape writes"):
        read_yaml(f'a: "x{escape}y"')
    with pytest.raises(YamlError, match="an escape writes"):
        read_yaml(f'"x{escape}y": a')


def test_ordinary_escapes_and_emoji_in_quotes_are_read() -> None:
    assert read_yaml('a: "\\t\\n\\u00e9\\U0001F600"\nb: "❤️"').value == {"a": "\t\né😀", "b": "❤️"}


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(YamlError, match="a number has 200000 characters"):
        read_yaml("a: " + "9" * 200_000)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    rest_thorough(
        2,
        [
            '"' + "\\x41" * 40_000 + '"',
            "a: " + "x" * 200_000,
            "- a\n" * 9_000,
            "a: |\n" + " x\n" * 60_000,
            "#" * 200_000,
            "'" * 200_000,
        ],
    ),
)
def test_large_harmless_documents_are_read_in_bounded_time(text: str) -> None:
    started = time.thread_time()
    read_yaml(text)
    assert time.thread_time() - started < 3


@given(st.text(max_size=200) | st.text(alphabet="ab:-?[]{},&*!|>'\"%@`#\n \t\\u0x1.~<", max_size=120))
@settings(max_examples=EXAMPLES, deadline=None)
def test_no_text_crashes_the_reader(text: str) -> None:
    try:
        document = read_yaml(text)
    except YamlError as error:
        problem: YamlError | None = error
    else:
        problem = None
        json.dumps(json_safe(document.value), allow_nan=False)
    assert problem is None or (problem.line >= 1 and problem.message)


_TEXTS = st.text(st.characters(codec="ascii", min_codepoint=32, max_codepoint=126), max_size=12)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(_VALUES)
@settings(max_examples=EXAMPLES, deadline=None)
def test_json_is_read_as_the_same_value(value: Any) -> None:
    assert read_yaml(json.dumps(value)).value == value


@given(st.text(alphabet="0123456789+-._eEoxabcdefinfaNA", max_size=12))
@settings(max_examples=EXAMPLES, deadline=None)
def test_core_scalars_never_fail_within_the_length_cap(text: str) -> None:
    assert isinstance(core_value(text), str | int | float | bool | None)


def test_a_colon_in_a_plain_value_is_answered_with_quotation_marks() -> None:
    with pytest.raises(YamlError, match="needs quotation marks") as raised:
        read_yaml("name: pdf\ndescription: Use this: when a PDF comes\n", first_line=2)
    assert (raised.value.line, raised.value.column) == (3, 22)
