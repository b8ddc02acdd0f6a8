"""Exact comparison of what two sets of patterns grant (DESIGN §7; DECISIONS Directives 16)."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.permissions.containment import Budget, Granted, TooComplex, contained, diff, find, find_readable, is_action
from tests.permissions.vectors import vectors
from tests.scenes.effort import tries

pytestmark = pytest.mark.slow

EXAMPLES = tries(150, 20_000)
MANY = tries(500, 2_000)

SHORT = ["".join(letters) for length in range(5) for letters in itertools.product("abcd", repeat=length)]
"""Every string of at most four letters; the patterns below name a, b and c, so d stands for any other character."""

pieces = st.sampled_from(["*", "*", "?", "a", "b", "c", "[ab]", "[!a]", "[a-c]", "[b-a]", "[!c-b]"])
patterns = st.lists(pieces, max_size=5).map("".join)
pattern_sets = st.lists(patterns, max_size=3)


def granted(text: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


@pytest.mark.parametrize("case", vectors("containment.json"), ids=lambda case: ascii((case["old"], case["new"])))
def test_golden_containment(case: dict[str, Any]) -> None:
    found = diff(case["old"], case["new"])
    assert [change.pattern for change in found.widened] == case["widened"]
    assert [change.pattern for change in found.narrowed] == case["narrowed"]
    for changes, others in ((found.widened, case["old"]), (found.narrowed, case["new"])):
        for change in changes:
            for witness in (change.witness, case["witnesses"][change.pattern]):
                assert witness is not None
                assert fnmatchcase(witness, change.pattern)
                assert not granted(witness, others)


@settings(max_examples=EXAMPLES)
@given(pattern_sets, pattern_sets)
def test_diff_agrees_with_brute_force(old: list[str], new: list[str]) -> None:
    found = diff(old, new)
    for changes, ours, others in ((found.widened, new, old), (found.narrowed, old, new)):
        changed = {change.pattern: change.witness for change in changes}
        for pattern in ours:
            beyond = any(fnmatchcase(text, pattern) and not granted(text, others) for text in SHORT)
            if pattern not in changed:
                assert not beyond
                continue
            witness = changed[pattern]
            assert witness is not None
            assert fnmatchcase(witness, pattern)
            assert not granted(witness, others)
    assert found.equal is (not found.widened and not found.narrowed)


@settings(max_examples=EXAMPLES)
@given(patterns, pattern_sets)
def test_the_plain_witness_is_a_shortest_one(pattern: str, avoided: list[str]) -> None:
    witness = find([pattern], avoided)
    brute = next((text for text in SHORT if fnmatchcase(text, pattern) and not granted(text, avoided)), None)
    if brute is not None:
        assert witness is not None
        assert len(witness) == len(brute)
    if witness is not None and len(witness) <= 4:
        assert brute is not None


@settings(max_examples=EXAMPLES)
@given(patterns, patterns)
def test_what_two_patterns_share_agrees_with_brute_force(one: str, other: str) -> None:
    common = find([one, other], [])
    if common is None:
        assert not any(fnmatchcase(text, one) and fnmatchcase(text, other) for text in SHORT)
    else:
        assert fnmatchcase(common, one)
        assert fnmatchcase(common, other)


@settings(max_examples=EXAMPLES)
@given(pattern_sets, pattern_sets, pattern_sets)
def test_containment_is_a_preorder(a: list[str], b: list[str], c: list[str]) -> None:
    assert diff(a, a).equal
    assert not diff(a + b, a).widened
    if not diff(b, a).widened and not diff(c, b).widened:
        assert not diff(c, a).widened
    assert [x.pattern for x in diff(a, b).widened] == [x.pattern for x in diff(b, a).narrowed]


def test_the_witness_is_a_real_action_where_there_is_one() -> None:
    for old, new in ((["rye.load.*"], "rye.*"), (["rye.execute.tool.acme.*"], "*"), ([], "rye.[!l]*.[a-z]*")):
        witness = find_readable([new], old)
        assert witness is not None
        assert is_action(witness)
    assert find_readable(["*"], ["rye.*"]) == "a", "no action remains: at least a character"
    assert find_readable(["*"], ["?*"]) == ""


def test_containment_is_over_all_strings_not_only_actions() -> None:
    assert diff(["rye.search.*", "rye.load.*", "rye.sign.*", "rye.execute.*"], ["rye.*"]).widened
    assert diff(["rye.*"], ["*"]).widened
    assert diff(["rye.load.tool.[!\n]*"], ["rye.load.tool.?*"]).widened


def test_a_wildcard_that_only_a_union_covers() -> None:
    assert contained("rye.load.[a-z]*", ["rye.load.[a-m]*", "rye.load.[n-z]*"])
    assert not contained("rye.load.[a-z]*", ["rye.load.[a-m]*", "rye.load.[o-z]*"])
    assert contained("?*", ["[!a]*", "a*"])


def test_dots_mean_nothing_to_a_star() -> None:
    assert contained("rye.load.tool.a.b.c", ["rye.load.*"])
    assert contained("rye.*.tool.x", ["rye.*x"])


@pytest.mark.thorough
def test_patterns_made_to_explode_are_counted_as_widened() -> None:
    """Deciding ``*a??…?`` needs exponentially many states; giving up must never look like "not widened"."""
    started = time.thread_time()
    together = ["*a" + "?" * 20, "*[!a]" + "?" * 20]  # every string of 21 characters or more, in disguise
    (change,) = diff(together, ["?" * 25 + "*"]).widened
    assert change.witness is None
    assert not contained("?" * 25 + "*", together)
    assert time.thread_time() - started < 10
    assert contained("?" * 25 + "*", ["*a" + "?" * 3, "*[!a]" + "?" * 3]), "the same, small enough to decide"


def test_a_spent_budget_fails_closed() -> None:
    with pytest.raises(TooComplex):
        find(["*a*b*c*"], ["*[ab]?", "*c?*"], Budget(5))
    old, new = [f"*{n}?{n}*" for n in range(MANY)], [f"*{n}?{n}*x{n}?" for n in range(1, MANY + 1)]
    started = time.thread_time()
    assert diff(old, [f"?*{n}??" for n in range(MANY)]).widened
    assert len(diff([], new).widened) == MANY
    assert time.thread_time() - started < MANY / 50


@pytest.mark.thorough
def test_random_long_patterns_end_in_time_and_never_claim_a_false_containment() -> None:
    chance = random.Random(7)

    def pattern() -> str:
        return "".join(chance.choice("**??ab") for _ in range(60))

    for _ in range(tries(1, 3)):
        old, new = [pattern() for _ in range(20)], [pattern() for _ in range(20)]
        started = time.thread_time()
        widened = {change.pattern for change in diff(old, new).widened}
        assert time.thread_time() - started < 10
        for text in ("".join(chance.choice("abx") for _ in range(70)) for _ in range(100)):
            for one in new:
                assert one in widened or not fnmatchcase(text, one) or granted(text, old)


@pytest.mark.thorough
def test_large_ordinary_sets_are_quick_and_exact() -> None:
    old = [f"rye.execute.tool.acme.t{n}.*" for n in range(MANY)]
    started = time.thread_time()
    found = diff(old, [f"rye.execute.tool.acme.t{n}.x*" for n in range(MANY)])
    assert not found.widened
    assert len(found.narrowed) == MANY
    assert all(change.witness is not None for change in found.narrowed)
    assert time.thread_time() - started < 5


def test_a_budget_ends_after_its_last_step() -> None:
    budget = Budget(3)
    budget.spend(3)
    assert budget.left == 0
    with pytest.raises(TooComplex):
        budget.spend(1)


def test_too_complex_to_tell_counts_as_not_contained() -> None:
    assert contained("acme.x", ["acme.*"]) is True
    assert contained("acme.x", ["acme.*"], Budget(0)) is False


def test_every_pattern_that_may_match_is_near_and_in_the_order_of_its_text() -> None:
    """Prefixes do not sort like their patterns: ``a!c`` comes before ``a?``, whose prefix is ``a``."""
    few = Granted(["b*", "a?", "a!c*", "a!", "c"])
    assert [glob.text for glob in few.near("a!")] == ["a?", "a!", "a!c*"]
    assert [glob.text for glob in few.near("d")] == []
    many = [f"a?{number:02}" for number in range(40)]
    assert [glob.text for glob in Granted(reversed(many)).near("a")] == many
