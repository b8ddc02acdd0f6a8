"""Which capability strings name a real action: the automaton compared with its specification."""

from __future__ import annotations

import pytest

from rye.items.capabilities import ITEM_TYPES, PRIMARIES
from rye.permissions.containment import ACCEPTING, FIXED_LETTERS, MOVES, START, is_action

BEGINNINGS = [f"rye.{primary}.{item_type}" for primary in PRIMARIES for item_type in ITEM_TYPES]


def test_the_words_are_those_of_the_specification() -> None:
    assert PRIMARIES == ("execute", "search", "load", "sign")
    assert ITEM_TYPES == ("directive", "tool", "knowledge")


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_an_action_has_one_segment_or_more_and_only_a_search_has_none(beginning: str) -> None:
    for ending in (
        ".a",
        ".z",
        ".0",
        ".9",
        ".a0_-",
        ".a--",
        ".a__",
        ".a.b",
        ".acme.work.one",
        ".0.1.2",
        f".{beginning}",
    ):
        assert is_action(beginning + ending), ending
    for ending in (
        ".", "..", "..a", ".a.", ".a..b", "._", ".-", ".-a", "._a", ".a.-b", ".a._b", ".A", ".aB", ".é", ".aé", ".~", ".a~",
        ".a/b", ".*", ".a*", ".a?", ".a b", ".a\n", " ", "x", "-", "_", "/a", "\n",
    ):  # fmt: skip
        assert is_action(beginning + ending) is False, ending
    assert is_action(beginning) == beginning.startswith("rye.search.")


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_no_shorter_and_no_changed_beginning_is_an_action(beginning: str) -> None:
    for end in range(len(beginning)):
        assert not is_action(beginning[:end])
        assert not is_action(f"{beginning[:end]}.a")
        assert not is_action(f"{beginning[:end]}~{beginning[end + 1 :]}.a")
        assert not is_action(f"{beginning[:end]}a{beginning[end:]}.a")
        assert not is_action(f"{beginning[:end]}{beginning[end + 1 :]}.a")
        assert not is_action(f"{beginning[: end + 1]}{beginning[end:]}.a")
    assert not is_action(f"x{beginning}.a")
    assert not is_action(beginning.removeprefix("rye.") + ".a")
    assert not is_action(beginning.upper() + ".a")


@pytest.mark.parametrize(
    "text", ["", "a", "a.b", "rye", "rye.a", "rye.execute.a", "rye.load.prompt.a", "rye.run.tool.a", "rye.*"]
)
def test_other_words_are_no_action(text: str) -> None:
    assert not is_action(text)


def test_from_the_beginning_only_one_letter_leads_on() -> None:
    assert {character for state, character in MOVES if state == START} == {"r"}
    assert START not in ACCEPTING
    assert START not in MOVES.values()
    assert is_action("rye.search.tool")


def test_each_beginning_has_states_of_its_own_where_it_differs() -> None:
    """One tree of the twelve prefixes and two states for the segments: each state is reached in one way only."""
    prefixes = {beginning[:end] for beginning in BEGINNINGS for end in range(len(beginning) + 1)}
    assert len({state for state, _ in MOVES} | set(MOVES.values())) == len(prefixes) + 2
    assert len(ACCEPTING) == 1 + len(ITEM_TYPES)
    assert is_action("rye.search.tool")


def test_the_letters_that_the_automaton_tells_apart() -> None:
    assert frozenset(".acdeghiklnorstuvwxy") == FIXED_LETTERS
    assert not is_action("".join(sorted(FIXED_LETTERS)))
