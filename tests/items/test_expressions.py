"""The language of hook conditions (DESIGN §8; DECISIONS Directives 12, 15), against golden vectors and laws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.items.directive.expressions import ExpressionError, equal, evaluate, holds, look_up, parse
from rye.limits import CONTENT
from tests.scenes.effort import tries

VECTORS = Path(__file__).parents[1] / "vectors" / "expressions"
EXAMPLES = tries(200, 20_000)


def vectors(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((VECTORS / name).read_text(encoding="utf-8"))
    return rows


@pytest.mark.parametrize("case", vectors("evaluation.json"), ids=lambda case: str(case["expression"])[:40])
def test_golden_evaluation(case: dict[str, Any]) -> None:
    assert equal(evaluate(parse(case["expression"]), case["context"]), case["value"])


@pytest.mark.parametrize("case", vectors("errors.json"), ids=lambda case: ascii(case["expression"])[:40])
def test_golden_errors_name_the_column(case: dict[str, Any]) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(case["expression"])
    assert caught.value.column == case["column"]


def test_names_are_those_read_and_in_order() -> None:
    expression = parse('cost.current > cost.limit and error.type == "cost.other" or not loop_count in true_names')
    assert expression.names() == {"cost.current", "cost.limit", "error.type", "loop_count", "true_names"}
    assert [(name.dotted, name.column) for name in expression.variables][:2] == [
        ("cost.current", 1),
        ("cost.limit", 16),
    ]


def test_r10_unknown_top_level_variables_have_their_column() -> None:
    unknown = parse("cost.current > costs.limit or deviation.type == typ").unknown({"cost", "deviation"})
    assert [(name.dotted, name.column) for name in unknown] == [("costs.limit", 16), ("typ", 49)]


def test_only_true_is_true() -> None:
    for text in ("1", '"true"', "missing", "null", "1 + 1", "flag"):
        assert not holds(parse(text), {"flag": 1})
    assert holds(parse("flag"), {"flag": True})


def test_messages_advise_what_to_write_instead() -> None:
    for text, advice in {
        "a = 1": "==",
        "a && b": "'and'",
        "a || b": "'or'",
        "!a": "'not'",
        "1 < 2 < 3": "'and'",
    }.items():
        with pytest.raises(ExpressionError, match=advice):
            parse(text)


def test_nothing_but_keys_of_mappings_is_looked_up() -> None:
    class Trap:
        secret = "leaked"

    context: dict[str, object] = {"trap": Trap(), "text": "abc", "list": [1], "object": {"items": 5}}
    for text in ("trap.secret", "trap.__class__", "text.upper", "list.append", "object.keys", "__builtins__", "len"):
        assert evaluate(parse(text), context) is None
    assert evaluate(parse("object.items"), context) == 5
    assert look_up(("object", "items"), context) == 5


def test_length_is_capped() -> None:
    longest = "1" + " " * (CONTENT.expression_characters - 1)
    assert evaluate(parse(longest), {}) == 1
    with pytest.raises(ExpressionError, match="1025"):
        parse(longest + " ")


def test_depth_is_capped_but_chains_are_not_nesting() -> None:
    deep = CONTENT.expression_depth
    assert evaluate(parse("(" * deep + "true" + ")" * deep), {}) is True
    for text in ("(" * (deep + 1) + "1" + ")" * (deep + 1), "not " * (deep + 1) + "true", "-" * (deep + 1) + "1"):
        with pytest.raises(ExpressionError, match="deep"):
            parse(text)
    assert evaluate(parse(" or ".join(["false"] * 100 + ["true"])), {}) is True
    assert evaluate(parse("+".join(["1"] * 500)), {}) == 500


def test_deep_and_strange_contexts_do_no_harm() -> None:
    deep: list[Any] = []
    for _ in range(50_000):
        deep = [deep]
    assert evaluate(parse("a == b"), {"a": deep, "b": deep}) is True
    huge = 10**400
    assert evaluate(parse("a * 1.5"), {"a": huge}) is None
    assert evaluate(parse("a / 3"), {"a": huge}) is None
    assert evaluate(parse("a > 1.5 and a == a"), {"a": huge}) is True
    nan = float("nan")
    assert evaluate(parse("a < 1 or a > 1 or a <= a or a == a"), {"a": nan}) is False


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
words = st.sampled_from(
    [
        "a",
        "b.c",
        "null",
        "true",
        "false",
        "1",
        "2.5",
        "0",
        "'x'",
        '"y"',
        "+",
        "-",
        "*",
        "/",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "in",
        "not",
        "and",
        "or",
        "(",
        ")",
        ".",
        ",",
        "**",
        "=",
        "[",
        "'",
        "é",
    ]
)


@settings(max_examples=EXAMPLES)
@given(st.lists(words, max_size=12), st.dictionaries(st.sampled_from("ab"), values))
def test_any_text_parses_or_fails_at_a_column_of_it(pieces: list[str], context: dict[str, object]) -> None:
    text = " ".join(pieces)
    column = failing_column(text)
    if column is None:
        evaluate(parse(text), context)
    else:
        assert 1 <= column <= len(text) + 1


@settings(max_examples=EXAMPLES)
@given(st.text(max_size=30))
def test_arbitrary_text_never_breaks_the_parser(text: str) -> None:
    column = failing_column(text)
    assert column is None or 1 <= column <= len(text) + 1


def failing_column(text: str) -> int | None:
    try:
        parse(text)
    except ExpressionError as error:
        return error.column
    return None


@settings(max_examples=EXAMPLES)
@given(st.integers(-99, 99), st.integers(-99, 99), st.integers(-99, 99))
def test_arithmetic_has_the_usual_precedence(a: int, b: int, c: int) -> None:
    context = {"a": a, "b": b, "c": c}
    assert evaluate(parse("a + b * c - a"), context) == a + b * c - a
    assert evaluate(parse("(a - b) - c == a - (b + c)"), context) is True


@pytest.mark.thorough
@settings(max_examples=EXAMPLES)
@given(values, values)
def test_comparison_laws(left: object, right: object) -> None:
    context = {"a": left, "b": right}
    assert evaluate(parse("a == b"), context) is not evaluate(parse("a != b"), context)
    assert evaluate(parse("a in b"), context) is not evaluate(parse("a not in b"), context)
    assert evaluate(parse("a == b"), context) is evaluate(parse("b == a"), context)
    assert evaluate(parse("a < b"), context) is evaluate(parse("b > a"), context)
    assert not (evaluate(parse("a < b"), context) and evaluate(parse("a >= b"), context))
