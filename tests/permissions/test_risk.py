"""Risk tiers (DESIGN §7), including spellings that an author might use to look harmless."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.permissions.containment import contained
from rye.permissions.risk import ELEVATED_SEGMENTS, TABLE, Tier, by_tier, highest, rows, tier, tiers
from tests.permissions.vectors import vectors


@pytest.mark.parametrize("case", vectors("tiers.json"), ids=lambda case: str(case["capability"]))
def test_golden_tiers(case: dict[str, Any]) -> None:
    assert str(tier(case["capability"])) == case["tier"]


def test_tiers_are_ordered_and_named() -> None:
    assert [str(one) for one in sorted(Tier)] == ["safe", "write", "elevated", "unrestricted"]
    assert Tier.named("elevated") is Tier.ELEVATED
    with pytest.raises(ValueError, match="unrestricted"):
        Tier.named("Elevated")


@pytest.mark.parametrize("segment", ELEVATED_SEGMENTS)
def test_a_telling_segment_anywhere_in_the_id_is_elevated(segment: str) -> None:
    for item_id in (segment, f"acme.{segment}", f"{segment}.x", f"acme.{segment}.x"):
        for item_type in ("tool", "directive", "knowledge"):
            assert tier(f"rye.execute.{item_type}.{item_id}") is Tier.ELEVATED
        assert tier(f"rye.load.tool.{item_id}") is Tier.SAFE
    assert tier(f"rye.execute.tool.acme.{segment}x") is Tier.WRITE


def test_the_built_in_table_is_most_specific_first() -> None:
    for index, row in enumerate(TABLE):
        assert not any(contained(later.pattern, [row.pattern]) for later in TABLE[index + 1 :])


def test_a_set_that_grants_all_execution_in_pieces_is_unrestricted() -> None:
    pieces = ["rye.execute.tool.*", "rye.execute.directive.*", "rye.execute.knowledge.*"]
    assert {tier(piece) for piece in pieces} == {Tier.ELEVATED}
    assert highest(pieces) is Tier.UNRESTRICTED
    assert highest(pieces[:2]) is Tier.ELEVATED
    assert highest(["rye.execute.[a-m]*", "rye.execute.[!a-m]*"]) is Tier.UNRESTRICTED
    assert highest([]) is Tier.SAFE
    assert highest(["rye.load.*", "rye.sign.tool.x"]) is Tier.WRITE


def test_grouped_for_a_reader_the_worst_first() -> None:
    groups = by_tier(["rye.load.*", "rye.execute.*", "rye.search.tool.*", "rye.execute.tool.a.b"])
    assert list(groups.items()) == [
        (Tier.UNRESTRICTED, ("rye.execute.*",)),
        (Tier.WRITE, ("rye.execute.tool.a.b",)),
        (Tier.SAFE, ("rye.load.*", "rye.search.tool.*")),
    ]


def test_a_policy_overrides_the_table_most_specific_first() -> None:
    table = rows(
        {
            "rye.execute.tool.acme.*": "write",
            "rye.execute.tool.acme.danger.*": "unrestricted",
            "rye.load.knowledge.secret.*": "elevated",
        }
    )
    assert table[0].pattern == "rye.execute.tool.acme.danger.*"
    assert tier("rye.execute.tool.acme.x", table) is Tier.WRITE
    assert tier("rye.execute.tool.acme.shell.x", table) is Tier.WRITE, "the policy speaks before the built-in rows"
    assert tier("rye.execute.tool.acme.x.*", table) is Tier.WRITE
    assert tier("rye.execute.tool.acme.*", table) is Tier.UNRESTRICTED, "the worst that it can reach"
    assert tier("rye.execute.tool.acme.dang[e]r.x", table) is Tier.UNRESTRICTED
    assert tier("rye.execute.tool.acmex.*", table) is Tier.ELEVATED
    assert tier("rye.load.knowledge.*", table) is Tier.ELEVATED
    assert tier("rye.load.knowledge.other.*", table) is Tier.SAFE
    assert tier("rye.load.tool.*", table) is Tier.SAFE


def test_a_policy_can_tier_all_execution() -> None:
    table = rows({"rye.execute.*": "elevated"})
    assert tier("rye.execute.*", table) is Tier.ELEVATED
    assert highest(["rye.execute.tool.*", "rye.execute.directive.*", "rye.execute.knowledge.*"], table) is Tier.ELEVATED


def test_overlapping_rows_take_the_higher_tier() -> None:
    table = rows({"rye.execute.tool.acme.*": "safe", "rye.execute.tool.*.x": "elevated"})
    assert tier("rye.execute.tool.acme.x", table) is Tier.ELEVATED


@pytest.mark.thorough
def test_what_is_too_complex_to_compare_is_unrestricted_and_quick() -> None:
    started = time.thread_time()
    table = rows({"*a" + "?" * 20: "safe", "*[!a]" + "?" * 20: "safe"})
    assert tier("rye.load.tool." + "?" * 25 + "*", table) is Tier.UNRESTRICTED
    assert len(rows({"*[ab]?" + "?" * n + "*c": "safe" for n in range(60)})) == 60
    assert time.thread_time() - started < 10


def test_the_tiers_of_a_set_are_those_of_its_members() -> None:
    some = [case["capability"] for case in vectors("tiers.json")]
    assert tiers(some) == {capability: tier(capability) for capability in some}
    table = rows({"rye.execute.tool.acme.*": "safe"})
    assert tiers(["rye.execute.tool.acme.x", "rye.execute.tool.*"], table) == {
        "rye.execute.tool.acme.x": Tier.SAFE,
        "rye.execute.tool.*": tier("rye.execute.tool.*", table),
    }
    assert tiers([]) == {}


@pytest.mark.thorough
def test_many_ordinary_patterns_are_all_told_exactly() -> None:
    many = [f"rye.execute.tool.acme.n{number}.*" for number in range(500)]
    assert set(tiers(many).values()) == {tier(many[0])} == {Tier.ELEVATED}


@pytest.mark.thorough
def test_a_long_set_of_hard_patterns_is_told_within_one_bound() -> None:
    """Each takes a tenth of a second, and a release note has room for two thousand."""
    hard = [f"rye.*a{'?' * 12}*{number}b" for number in range(1500)]
    started = time.thread_time()
    found = tiers([*hard, "rye.search.tool.x"])
    assert time.thread_time() - started < 15
    assert found[hard[-1]] is Tier.UNRESTRICTED
    assert found["rye.search.tool.x"] is Tier.SAFE, "one action costs nothing"
    assert highest(hard) is Tier.UNRESTRICTED


words = st.sampled_from(
    ["rye", "execute", "load", "sign", "search", "tool", "*", "?", ".", ".", "acme", "[a-s]*", "s?ell"]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(words, max_size=8).map("".join), st.lists(words, max_size=8).map("".join))
def test_granting_more_is_never_tiered_lower(one: str, other: str) -> None:
    """Elevated is left out because it is also the tier of a pattern that reaches no action."""
    if contained(one, [other]) and tier(one) is not Tier.ELEVATED:
        assert tier(one) <= tier(other)
