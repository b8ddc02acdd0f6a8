"""Merging three texts by lines: nothing is lost, and no author makes it take forever."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from rye.customization.merge import drift
from rye.limits import CONTENT
from rye.text.three_way import merge_texts


def merged(base: str, ours: str, theirs: str) -> tuple[str, int]:
    done = merge_texts(base, ours, theirs, our_name="yours", their_name="theirs")
    return done.text, done.conflicts


def test_what_one_side_changed_is_taken_and_what_both_did_is_in_conflict() -> None:
    assert merged("a\nb\nc", "A\nb\nc", "a\nb\nC") == ("A\nb\nC", 0)
    assert merged("a\nb\nc", "a\nx\nc", "a\ny\nc") == ("a\n<<<<<<< yours\nx\n=======\ny\n>>>>>>> theirs\nc", 1)


LINES = st.lists(st.sampled_from("abc"), max_size=8)


@given(LINES, LINES, LINES, st.integers(0, 8), st.integers(0, 8))
def test_no_line_that_a_side_wrote_is_lost(
    base: list[str], ours: list[str], theirs: list[str], at: int, other: int
) -> None:
    mine, author = ([*ours[:at], "MINE", *ours[at:]], [*theirs[:other], "THEIRS", *theirs[other:]])
    text, _ = merged("\n".join(base), "\n".join(mine), "\n".join(author))
    assert {"MINE", "THEIRS"} <= set(text.split("\n"))


def test_texts_that_an_author_made_hard_to_compare_are_compared_soon() -> None:
    """The lines of an item of the largest size, all equal: a comparison without a bound takes hours."""
    lines = "a\n" * (CONTENT.item_bytes // 2 - 2)
    started = time.thread_time()
    text, _ = merged(f"z\n{lines}", f"{lines}MINE\n", f"b\n{lines}b\n")
    assert "MINE" in text
    assert drift(f"b\n{lines}", f"{lines}c\n") is not None
    assert time.thread_time() - started < 20
