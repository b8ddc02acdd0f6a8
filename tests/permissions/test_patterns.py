"""The automata of patterns agree with fnmatch, also on odd character classes (DESIGN §7)."""

from __future__ import annotations

import warnings
from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.permissions.patterns import PatternSet, compile_glob, glob_matches, has_wildcards
from tests.permissions.vectors import vectors
from tests.scenes.effort import tries

EXAMPLES = tries(500, 50_000)


def automaton_matches(text: str, pattern: str) -> bool:
    patterns = PatternSet([compile_glob(pattern)])
    states = patterns.start
    for character in text:
        states = patterns.step(states, character)
    return patterns.accepts(states)


@pytest.mark.parametrize("case", vectors("matching.json"), ids=lambda case: ascii((case["pattern"], case["text"])))
def test_golden_matching(case: dict[str, Any]) -> None:
    assert fnmatchcase(case["text"], case["pattern"]) is case["matches"]
    assert automaton_matches(case["text"], case["pattern"]) is case["matches"]
    assert glob_matches(case["text"], case["pattern"]) is case["matches"]


@settings(max_examples=EXAMPLES)
@given(st.text(alphabet="ab*\n", max_size=7), st.text(alphabet="ab\n", max_size=9))
def test_stars_alone_mean_what_fnmatch_says(pattern: str, text: str) -> None:
    assert glob_matches(text, pattern) is fnmatchcase(text, pattern)


@pytest.mark.parametrize(
    ("text", "pattern", "matches"),
    [
        ("ab", "ab*b", False),  # the ends overlap
        ("abb", "ab*b", True),
        ("aXbXc", "a*X*X*c", True),
        ("aXc", "a*X*X*c", False),
        ("a\n", "a", False),
        ("", "**", True),
        ("a*b", "a[*]b", True),
        ("axb", "a?b", True),
    ],
)
def test_parts_match_once_each_and_in_order(text: str, pattern: str, matches: bool) -> None:
    assert glob_matches(text, pattern) is fnmatchcase(text, pattern) is matches


odd = st.text(alphabet="ab!]-[^\\&~|.*?z\n🙂", max_size=9)


@settings(max_examples=EXAMPLES)
@given(odd, st.text(alphabet="ab!]-[^\\&~|.*?z\n🙂\U0010ffff", max_size=6))
def test_every_pattern_means_what_fnmatch_says(pattern: str, text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # re warns about sets that look nested
        assert automaton_matches(text, pattern) is fnmatchcase(text, pattern)


@pytest.mark.thorough
@settings(max_examples=EXAMPLES)
@given(odd, st.characters())
def test_every_class_holds_what_fnmatch_says(inside: str, character: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pattern = f"[{inside}]"
        assert automaton_matches(character, pattern) is fnmatchcase(character, pattern)


@given(odd)
def test_a_pattern_without_wildcards_matches_only_itself(pattern: str) -> None:
    if not has_wildcards(pattern):
        assert automaton_matches(pattern, pattern)
        assert compile_glob(pattern).literal_prefix == pattern
        assert not automaton_matches(pattern + "a", pattern)


def test_stars_in_a_row_are_one() -> None:
    assert compile_glob("a***b").loops == compile_glob("a*b").loops
    assert len(compile_glob("*" * 1000).tokens) == 0
