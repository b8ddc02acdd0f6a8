"""How many steps a comparison takes (DESIGN §7): the limit must stop hostile patterns and never affect ordinary ones.

The steps and the witness of each case are exact. Both change when the search visits another state, drops one that it should
follow, or counts a step differently, so this table catches bugs that the answers alone do not show.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

import rye.permissions.containment
from rye.limits import PERMISSIONS
from rye.permissions.containment import Budget, Change, Granted, TooComplex, contained, diff, find, find_readable

STEPS = 1_000_000
MANY = ["x" * 30 + "?" * length + "*a" for length in range(40)]
"""More than a thousand states, so that their cost shows."""
LONG = ["*" + "q" * 300 + "?" * length + "*" for length in range(16)]
"""More than 4096 states: each operation on a set of them counts double."""

CASES: list[tuple[list[str], list[str], bool, str | None, int]] = [
    (["a*", "[b-a]"], [], False, None, 0),
    (["a*", "*b"], ["*[bc]"], False, None, 30),
    (["a*", "*b"], ["a*c"], False, "ab", 39),
    (["*a????????"], ["*a???b????", "*aa???????", "*b?a????"], False, "abaaaaaaa", 2542),
    (["*a?????"], ["*b?????", "*a????a", "?a*"], False, "abaaab", 1003),
    (["*[ab]?????*"], ["*a??a*", "*b??b*", "*a?b*"], False, "aaaccb", 262),
    (["*a?*b?*", "*b*a*"], ["*ab*a*"], False, "acba", 135),
    (["a*"], ["a*"], False, None, 0),
    (["a*"], [], False, "a", 11),
    (["ab*"], ["a*"], False, None, 1),
    (["ab?"], ["a*", "b*"], False, None, 1),
    (["ba*"], ["a*"], False, "ba", 17),
    (["abc"], ["a?c"], False, None, 1),
    (["abc"], ["a?d"], False, "abc", 1),
    (["abc", "a*"], ["x"], False, "abc", 1),
    (["abc", "b*"], [], False, None, 0),
    (["rye.execute.tool.a"], ["x*"], True, "rye.execute.tool.a", 3),
    (["abc"], ["x*"], True, None, 1),
    (["[b-a]"], ["c"], False, None, 0),
    (["a*", "*b"], ["a?b"], False, "ab", 38),
    (["*a"], ["*?a"], False, "a", 16),
    (["*"], ["?*"], False, "", 4),
    (["?*"], ["*"], False, None, 1),
    (["*a*"], ["*b*"], False, "a", 20),
    (["*a?"], ["*a*b", "*a*c"], False, "aa", 39),
    (["a?*"], ["a*b*", "ab*"], False, "aa", 25),
    (["*ab*"], ["*a*b*"], False, None, 23),
    (["*a*b*"], ["*ab*"], False, "acb", 41),
    (["??*"], ["?", "a*"], False, "ba", 24),
    (["[ab]*[cd]"], ["a*", "b*c"], False, "bd", 37),
    (["[!a]*"], ["[!b]*"], False, "b", 16),
    (["[!a]*"], ["b*", "[!ab]*"], False, None, 17),
    (["rye.*"], ["rye.execute.*"], True, "rye.load.tool.a", 1675),
    (["*"], ["rye.execute.*", "rye.search.*", "rye.load.*"], True, "rye.sign.tool.a", 1141),
    (["rye.execute.tool.*"], ["rye.execute.tool.a-*", "rye.execute.*b"], True, "rye.execute.tool.a", 328),
    (["*_*"], ["*-*"], True, "rye.load.tool.a_", 2287),
    (["rye.execute.t?*"], ["rye.execute.tool.*"], True, None, 320),
    (["*a??????"], ["*a*"], False, None, 31),
    (["*a????"], ["a*", "*b????", "??a*"], False, "babaaa", 196),
    (["x*"], MANY, False, "x", 1032),
    (["*a*a"], [*MANY, "*a"], False, None, 1038),
    (["*z*"], LONG, False, "z", 2498),
]


@pytest.mark.parametrize(("wanted", "avoided", "real", "witness", "steps"), CASES)
def test_the_shortest_witness_and_the_steps_to_it(
    wanted: list[str], avoided: list[str], real: bool, witness: str | None, steps: int
) -> None:
    budget = Budget(STEPS)
    assert find(wanted, avoided, budget, real_actions=real) == witness
    assert STEPS - budget.left == steps


@pytest.mark.parametrize(("wanted", "avoided", "real", "witness", "steps"), [case for case in CASES if case[4]])
def test_the_last_step_may_be_spent_and_no_further_one(
    wanted: list[str], avoided: list[str], real: bool, witness: str | None, steps: int
) -> None:
    assert find(wanted, avoided, Budget(steps), real_actions=real) == witness
    with pytest.raises(TooComplex):
        find(wanted, avoided, Budget(steps - 1), real_actions=real)


@pytest.mark.parametrize(("wanted", "avoided", "real", "witness", "steps"), CASES)
def test_a_star_that_does_not_settle_in_time_changes_no_answer(
    wanted: list[str], avoided: list[str], real: bool, witness: str | None, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rye.permissions.containment, "PERMISSIONS", replace(PERMISSIONS, simulation_rounds=1))
    found = find(wanted, avoided, Budget(STEPS), real_actions=real)
    assert (found is None) is (witness is None)


def test_many_patterns_get_steps_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A comparison may take a base number of steps plus some for each pattern, so the last of many is still compared."""
    monkeypatch.setattr(rye.permissions.containment, "PERMISSIONS", replace(PERMISSIONS, containment_steps=0))
    patterns = [f"a{number:04d}*x?" for number in range(400)]
    assert diff([], patterns).widened == tuple(Change(pattern, pattern.replace("*x?", "xa")) for pattern in patterns)


def test_what_is_asked_without_a_budget_has_the_usual_one() -> None:
    assert find_readable(["a*"], ["b*"]) == "a"
    assert contained("a*", ["*"]) is True
    assert contained("*a" + "?" * 30, ["*b" + "?" * 30, "a*" + "b" * 40 + "?" * 30]) is False


def test_a_readable_witness_is_paid_from_the_budget_that_was_given() -> None:
    """Many comparisons share one: a fresh one for each would be no limit for a long list."""
    budget = Budget(STEPS)
    assert find_readable(["a*"], ["b*"], budget) == "a"
    assert budget.left < STEPS
    with pytest.raises(TooComplex):
        find_readable(["a*"], ["b*"], Budget(STEPS - budget.left - 1))


def test_only_patterns_that_can_match_the_beginning_are_near() -> None:
    granted = Granted(["ab*", "a*", "abc*", "b*", "?x", "abd", "ab?e", "[b-a]*"])
    assert [glob.text for glob in granted.near("ab")] == ["?x", "a*", "ab*", "ab?e", "abc*", "abd"]
    assert [glob.text for glob in granted.near("")] == ["?x", "a*", "ab*", "ab?e", "abc*", "abd", "b*"]
    assert [glob.text for glob in granted.near("c")] == ["?x"]
