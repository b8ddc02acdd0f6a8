"""Suggestions for a misspelt word, likeliest first."""

from __future__ import annotations

from difflib import get_close_matches

from hypothesis import given, settings
from hypothesis import strategies as st

from rye.text.spelling import close_words

WORDS = st.text("abcde-_", max_size=12)


@settings(max_examples=150, deadline=None)
@given(WORDS, st.lists(WORDS, max_size=8), st.integers(1, 4), st.sampled_from([0.0, 0.4, 0.6, 0.9, 1.0]))
def test_the_same_words_in_the_same_order_as_difflib(word: str, known: list[str], most: int, likeness: float) -> None:
    assert close_words(word, known, most, likeness=likeness) == get_close_matches(word, known, most, likeness)


def test_a_misspelling_is_found() -> None:
    assert close_words("dependancies", ["dependencies", "project", "policy"]) == ["dependencies"]
    assert close_words("zzz", ["dependencies", "project"]) == []
