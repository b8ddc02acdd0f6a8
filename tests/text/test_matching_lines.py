"""Which lines of two texts are the same (rye.text.matching_lines): always a correct edit script, and never slow."""

from __future__ import annotations

import difflib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.text.matching_lines import Budget, Match, hunks, matches

LINES = st.lists(st.sampled_from("abcdef"), max_size=30)


def changed(old: list[str], new: list[str], found: tuple[Match, ...]) -> int:
    """How many lines are removed or added."""
    return len(old) + len(new) - 2 * sum(match.length for match in found)


def assert_true(old: list[str], new: list[str], found: tuple[Match, ...]) -> None:
    at_old = at_new = 0
    for match in found:
        assert match.length > 0
        assert match.old >= at_old
        assert match.new >= at_new
        assert (match.old, match.new) == (0, 0) or match.old > at_old or match.new > at_new, "two stretches are one"
        assert old[match.old : match.old + match.length] == new[match.new : match.new + match.length]
        at_old, at_new = match.old + match.length, match.new + match.length
    assert at_old <= len(old)
    assert at_new <= len(new)


@given(LINES, LINES)
def test_what_is_matched_is_equal_and_in_order(old: list[str], new: list[str]) -> None:
    assert_true(old, new, matches(old, new))


@given(LINES, LINES, st.integers(0, 200))
def test_a_small_budget_makes_a_longer_script_and_no_wrong_one(old: list[str], new: list[str], steps: int) -> None:
    assert_true(old, new, matches(old, new, Budget(steps)))


@given(st.lists(st.sampled_from("ab"), max_size=25), st.lists(st.sampled_from("ab"), max_size=25))
def test_where_no_line_is_unique_no_shorter_script_exists(old: list[str], new: list[str]) -> None:
    """Each line occurs two times, so only the shortest edit script can match them. Counted by dynamic programming."""
    old, new = [*"xyz", *old, *"zyx"], [*"zyx", *new, *"xyz"]
    row = [0] * (len(new) + 1)
    for line in old:
        above, row = row, [0]
        for at, other in enumerate(new):
            row.append(above[at] + 1 if line == other else max(above[at + 1], row[at]))
    few = [line for line in "ab" if old.count(line) == 1 == new.count(line)]
    shortest = len(old) + len(new) - 2 * row[-1]
    assert changed(old, new, matches(old, new)) >= shortest
    if not few:
        assert changed(old, new, matches(old, new)) == shortest


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("", "", 0),
        ("abc", "abc", 0),
        ("", "abc", 3),
        ("abc", "", 3),
        ("abcabba", "cbabac", 5),
        ("aXbYc", "abc", 2),
        ("abc", "xyz", 6),
        ("aaaa", "aaaaaa", 2),
        ("abababab", "babababa", 2),
    ],
)
def test_a_script_is_as_short_as_it_can_be(old: str, new: str, changes: int) -> None:
    found = matches(list(old), list(new))
    assert_true(list(old), list(new), found)
    assert changed(list(old), list(new), found) == changes


def test_a_moved_function_keeps_the_longer_part_in_place() -> None:
    old = ["def a():", "  pass", "", "def b():", "  return 1", "  # b", ""]
    new = ["def b():", "  return 1", "  # b", "", "def a():", "  pass", ""]
    found = matches(old, new)
    assert {line for match in found for line in old[match.old : match.old + match.length]} >= {"def b():", "  # b"}


HOSTILE = {
    "all different": ([f"a{n}" for n in range(20_000)], [f"b{n}" for n in range(20_000)]),
    "two letters": (["a", "b"] * 20_000, ["b", "b", "a"] * 14_000),
    "backwards": ([str(n) for n in range(20_000)], [str(n) for n in range(19_999, -1, -1)]),
    "all twice, backwards": (
        [str(n // 2) for n in range(20_000)],
        [str(n // 2) for n in range(19_999, -1, -1)],
    ),
    "one unique line in each half of a half": (
        [f"x{n}" if n & (n - 1) == 0 else "y" for n in range(30_000)],
        [f"x{n}" if n & (n - 1) == 0 else "z" for n in range(30_000)],
    ),
    "difflib's worst": (["a"] * 5_000 + ["b"] * 5_000, ["b"] * 5_000 + ["a"] * 5_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_cost_no_more_than_the_budget(name: str) -> None:
    old, new = HOSTILE[name]
    begun = time.thread_time()
    found = matches(old, new)
    assert time.thread_time() - begun < 3
    assert_true(old, new, found)


def test_a_budget_is_shared_by_comparisons() -> None:
    budget = Budget(100)
    matches(list("abcabc"), list("bcabca"), budget)
    assert 0 <= budget.left < 100
    budget.left = 0
    assert matches(list("xab"), list("yab"), budget) == (Match(1, 1, 2),), "equal beginnings and ends cost nothing"


def test_it_agrees_with_the_standard_library_on_ordinary_text() -> None:
    old = [f"line {n}" for n in range(100)]
    new = [*old[:10], "new", *old[10:50], "changed", *old[51:90], *old[95:]]
    ours = matches(old, new)
    theirs = [m for m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks() if m.size]
    assert [(m.old, m.new, m.length) for m in ours] == [tuple(m) for m in theirs]


@given(LINES, LINES, st.integers(0, 4))
def test_hunks_hold_every_change_once_with_what_stays_around_it(old: list[str], new: list[str], context: int) -> None:
    found = matches(old, new)
    made: list[str] = []
    at = 0
    for hunk in hunks(found, len(old), len(new), context):
        assert hunk.old.start >= at
        made += old[at : hunk.old.start]
        assert len(made) == hunk.new.start
        for block in hunk.blocks:
            made += old[block.old.start - block.lead : block.old.start]
            made += new[block.new.start : block.new.stop]
            assert block.old or block.new
        made += old[hunk.blocks[-1].old.stop : hunk.old.stop]
        assert len(made) == hunk.new.stop
        assert hunk.blocks[0].lead == min(context, hunk.blocks[0].old.start)
        at = hunk.old.stop
    assert [*made, *old[at:]] == new
