"""The lowest limit counts; reaching a limit is allowed, exceeding it is not (design: agents 3.1, Limits)."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rye.items.directive.model import Directive
from rye.items.directive.reader import read
from rye.items.reading import ReadOptions, Source
from rye.permissions.policy_table import LIMITS as NAMES
from rye.runtime.limits import (
    LIMITS,
    SUMMED,
    Bound,
    Crossing,
    Limits,
    Used,
    crossed,
    left,
    minimum,
    most,
    of_directive,
    remaining,
)
from tests.scenes.directive_text import directive

LIMITS_WRITTEN = '<limits max_turns="5" max_tokens="1000"/>'


def parsed(limits: str, more: str = "") -> Directive:
    text = directive("work/ship").replace(LIMITS_WRITTEN, limits)
    start, end = text.index("<cost>"), text.index("</cost>") + len("</cost>")
    text = text[:start] + more + text[end:]
    found = read(Source(text), ReadOptions()).value
    assert isinstance(found, Directive)
    return found


def test_the_manifest_knows_the_same_limits() -> None:
    assert NAMES == LIMITS == Limits.__struct_fields__ == Used.__struct_fields__


def test_all_eight_are_read_from_a_directive() -> None:
    limits = (
        '<limits max_turns="6" max_tokens="4096" spend="0.50" duration_seconds="60" depth="2" spawns="3" calls="9" '
        'tool_seconds="30" />'
    )
    found = of_directive(parsed(limits))
    assert found == Limits(
        turns=6, tokens=4096, spend=Decimal("0.50"), duration=60, depth=2, spawns=3, calls=9, tool_seconds=30
    )


def test_where_limits_and_cost_both_speak_the_lesser_counts() -> None:
    cost = (
        '<cost><context estimated_usage="low" turns="4">9000</context><duration>90</duration><spend>0.40</spend></cost>'
    )
    limits = '<limits max_turns="6" max_tokens="4096" spend="2" duration_seconds="60" />'
    found = of_directive(parsed(limits, cost))
    assert found == Limits(turns=4, tokens=4096, spend=Decimal("0.40"), duration=60)


@pytest.mark.parametrize(
    ("currency", "spend"),
    [("", Decimal(5)), (' currency="USD"', Decimal(5)), (' currency="usd"', Decimal(5)), (' currency="EUR"', None)],
)
def test_only_dollars_are_counted(currency: str, spend: Decimal | None) -> None:
    cost = (
        f'<cost><context estimated_usage="low" turns="4">9000</context><duration>9</duration>'
        f"<spend{currency}>5</spend></cost>"
    )
    assert of_directive(parsed('<limits max_turns="6" max_tokens="4096" />', cost)).spend == spend


@pytest.mark.parametrize("name", LIMITS)
def test_reaching_is_allowed_and_going_beyond_is_not(name: str) -> None:
    bound = Bound(replace(Limits(), **{name: Decimal(5) if name == "spend" else 5}))
    kind = type(getattr(Used(), name))
    assert crossed([bound], replace(Used(), **{name: kind(5)})) is None
    assert crossed([bound], replace(Used(), **{name: kind(6)})) == Crossing(name, 6, 5)


def test_a_level_counts_from_when_it_joined() -> None:
    bounds = [Bound(Limits(calls=100)), Bound(Limits(calls=2), since=Used(calls=40))]
    assert crossed(bounds, Used(calls=42)) is None
    assert crossed(bounds, Used(calls=43)) == Crossing("calls", 3, 2)
    assert left(bounds, Used(calls=41), "calls") == 1


def test_what_is_left_is_never_negative() -> None:
    bounds = [Bound(Limits(calls=2, duration=10, spend=Decimal(1)))]
    assert remaining(bounds, Used(calls=5, duration=3.5, spend=Decimal("0.25"))) == Limits(
        calls=0, duration=6, spend=Decimal("0.75")
    )


def used(number: int) -> Used:
    return Used(
        turns=number,
        tokens=number,
        spend=Decimal(number),
        duration=float(number),
        depth=number,
        spawns=number,
        calls=number,
        tool_seconds=float(number),
    )


def test_time_and_depth_are_the_only_measures_that_do_not_add_up() -> None:
    assert set(LIMITS) - set(SUMMED) == {"duration", "depth"}
    assert used(5).plus(used(3)) == replace(used(8), duration=5.0, depth=5)
    assert used(5).minus(used(3)) == replace(used(2), duration=5.0, depth=5)


@given(st.integers(-9, 9), st.integers(-9, 9))
def test_what_was_taken_away_comes_back_when_it_is_added(first: int, second: int) -> None:
    assert used(second).plus(used(first).minus(used(second))) == replace(
        used(first), duration=float(second), depth=second
    )


def test_the_most_that_a_run_may_use_is_every_limit_that_adds_up() -> None:
    limits = Limits(turns=5, tokens=5, spend=Decimal(5), duration=5, depth=5, spawns=5, calls=5, tool_seconds=5)
    reserved = most(limits)
    assert reserved == replace(used(5), duration=0.0, depth=0)
    assert [type(getattr(reserved, name)) for name in LIMITS] == [type(getattr(Used(), name)) for name in LIMITS]
    assert most(Limits()) == Used()
    assert most(Limits(calls=0)) == Used()


LIMIT = st.builds(Limits, calls=st.none() | st.integers(0, 50), turns=st.none() | st.integers(0, 50))


@given(st.lists(LIMIT, max_size=4), LIMIT)
def test_one_more_level_never_loosens(given_limits: list[Limits], more: Limits) -> None:
    before, after = minimum(given_limits), minimum([*given_limits, more])
    for name in ("calls", "turns"):
        old, new = getattr(before, name), getattr(after, name)
        assert old is None or (new is not None and new <= old)
