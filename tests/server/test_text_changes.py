"""The lines of a diff (design/server.md 5): correct on both sides, marked, cut and bounded."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry_server.pages.limits import COMPARISON
from registry_server.pages.text_changes import Changes, Line, text_changes
from rye.text.matching_lines import Budget

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "a b c\n", "a x c\n", "\n", "a\r\n", "end"]), max_size=40).map("".join)


def changes(old: str, new: str) -> Changes:
    return text_changes(old, new, Budget())


def lines(found: Changes) -> list[Line]:
    return [line for hunk in found.hunks for line in hunk.lines]


def rebuilt(found: Changes, old: str) -> str:
    """Rebuild the new text from the old one and the diff, as ``patch`` does."""
    before = old.split("\n")
    before = [*(f"{line}\n" for line in before[:-1]), *([before[-1]] if before[-1] else [])]
    made: list[str] = []
    at = 0
    for hunk in found.hunks:
        made += before[at : at + hunk.skipped]
        at += hunk.skipped
        for line in hunk.lines:
            text = line.text + ("" if line.unended else "\n")
            if line.sign != "+":
                assert before[at] == text
                assert line.old == at + 1
                at += 1
            if line.sign != "-":
                made.append(text)
                assert line.new == len(made)
    assert len(before) - at == found.skipped
    return "".join([*made, *before[at:]])


@given(TEXTS, TEXTS)
def test_the_old_text_and_the_diff_give_the_new_text(old: str, new: str) -> None:
    found = changes(old, new)
    assert rebuilt(found, old) == new
    assert found.added == sum(line.sign == "+" for line in lines(found))
    assert found.removed == sum(line.sign == "-" for line in lines(found))


@given(TEXTS, TEXTS)
def test_without_a_budget_it_is_still_true(old: str, new: str) -> None:
    assert rebuilt(text_changes(old, new, Budget(0)), old) == new


def test_equal_texts_have_no_hunks() -> None:
    assert changes("a\nb\n", "a\nb\n") == Changes((), 0, 0, 2)
    assert changes("", "") == Changes((), 0, 0, 0)


def test_what_stays_is_folded_and_counted() -> None:
    old = [f"{n}\n" for n in range(100)]
    new = [*old[:50], "new\n", *old[50:]]
    found = changes("".join(old), "".join(new))
    assert [(hunk.skipped, len(hunk.lines)) for hunk in found.hunks] == [(47, 7)]
    assert found.skipped == 47


def test_changes_that_are_near_share_a_hunk() -> None:
    old = [f"{n}\n" for n in range(20)]
    near = [line if n not in (5, 12) else "x\n" for n, line in enumerate(old)]
    far = [line if n not in (5, 13) else "x\n" for n, line in enumerate(old)]
    assert len(changes("".join(old), "".join(near)).hunks) == 1
    assert len(changes("".join(old), "".join(far)).hunks) == 2


def test_only_the_changed_words_of_a_line_are_marked() -> None:
    found = lines(changes("run the old command now\n", "run the new command now\n"))
    assert [[(part.text, part.changed) for part in line.parts] for line in found] == [
        [("run the ", False), ("old", True), (" command now", False)],
        [("run the ", False), ("new", True), (" command now", False)],
    ]


def test_lines_with_nothing_in_common_are_not_marked_inside() -> None:
    assert all(not part.changed for line in lines(changes("alpha\n", "1 2 3 4\n")) for part in line.parts)


def test_a_hidden_character_alone_is_a_change_that_is_marked() -> None:
    removed, added = lines(changes("do not delete\n", "do not\u200b delete\n"))
    assert "\u200b" in "".join(part.text for part in added.parts if part.changed)
    assert not any(part.changed for part in removed.parts)


def test_line_ends_that_change_are_seen() -> None:
    found = lines(changes("a\nb\n", "a\r\nb\r\n"))
    assert [line.text for line in found] == ["a", "b", "a\r", "b\r"]


def test_a_missing_last_line_end_is_a_change() -> None:
    found = lines(changes("a\n", "a"))
    assert [(line.sign, line.text, line.unended) for line in found] == [("-", "a", False), ("+", "a", True)]


def test_a_lone_carriage_return_and_other_separators_end_no_line() -> None:
    for character in "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029":
        assert len(lines(changes("", f"a{character}b\n"))) == 1


def test_a_huge_line_is_cut_around_what_changed_in_it() -> None:
    start, end = "x" * 200_000, "y" * 300_000
    removed, added = lines(changes(f"{start}old{end}\n", f"{start}new!{end}\n"))
    assert "old" in removed.text
    assert "new!" in added.text
    assert removed.before + len(removed.text) + removed.after == 500_003
    assert added.before + len(added.text) + added.after == 500_004
    assert len(added.text) == COMPARISON.line_characters
    assert "".join(part.text for part in added.parts if part.changed) == "new!"


def test_a_huge_line_that_is_new_is_cut_at_its_end() -> None:
    (line,) = lines(changes("", "z" * 10_000))
    assert (len(line.text), line.after, line.unended) == (COMPARISON.line_characters, 10_000 - len(line.text), True)


@pytest.mark.slow
def test_hostile_texts_take_no_longer_than_their_budget() -> None:
    hostile = [
        ("a b " * 60_000, "b a " * 60_000),
        ("\n".join(["a", "b"] * 60_000), "\n".join(["b", "b", "a"] * 40_000)),
        ("\n".join(f"w {n} w" for n in range(30_000)), "\n".join(f"v {n} v" for n in range(30_000))),
        ("\n".join("a b c d e f g h" for _ in range(10_000)), "\n".join("h g f e d c b a" for _ in range(10_000))),
    ]
    for old, new in hostile:
        begun = time.process_time()
        found = changes(old, new)
        assert time.process_time() - begun < 10
        assert found.added
        assert found.removed
