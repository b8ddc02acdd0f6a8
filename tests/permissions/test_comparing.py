"""The unified diff of two texts (rye.permissions.comparing): ``patch`` can read it, and its time is bounded for any texts."""

from __future__ import annotations

import difflib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.items.reading import Metadata
from rye.permissions.comparing import Version, compare, unified

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "", "# d", "- e"]), max_size=30).map("\n".join)


def patched(old: str, diff: tuple[str, ...]) -> str:
    """The new text from the old one and a unified diff."""
    before, made, at = old.split("\n"), [], 0
    for line in diff[2:]:
        if line.startswith("@@ "):
            start, _, length = line.split(" ")[1][1:].partition(",")
            target = int(start) - (length != "0")
            made += before[at:target]
            at = target
        elif line[0] == "+":
            made.append(line[1:])
        else:
            assert before[at] == line[1:]
            at += 1
            if line[0] == " ":
                made.append(line[1:])
    return "\n".join([*made, *before[at:]])


@given(TEXTS, TEXTS)
def test_the_diff_applied_to_the_old_text_gives_the_new_one(old: str, new: str) -> None:
    found = unified(old, new, "a", "b")
    if old == new:
        assert found == ()
    else:
        assert found[:2] == ("--- a", "+++ b")
        assert patched(old, found) == new


def test_it_has_the_form_of_every_other_unified_diff() -> None:
    old = "\n".join(f"line {number}" for number in range(40))
    cases = [
        old.replace("line 7", "seven"),
        old.replace("line 7\n", ""),
        f"first\n{old}\nlast",
        old.replace("line 3", "three").replace("line 30", "thirty"),
        "",
        "one",
    ]
    for new in cases:
        theirs = difflib.unified_diff(old.split("\n"), new.split("\n"), "a", "b", lineterm="")
        assert list(unified(old, new, "a", "b")) == list(theirs)
        back = difflib.unified_diff(new.split("\n"), old.split("\n"), "a", "b", lineterm="")
        assert list(unified(new, old, "a", "b")) == list(back)


def test_a_text_that_is_made_to_be_hard_to_compare_takes_no_minutes() -> None:
    old = "\n".join(str(number % 100) for number in range(20_000))
    new = "\n".join(str(99 - number % 100) for number in range(20_000))
    begun = time.thread_time()
    found = unified(old, new, "a", "b")
    assert time.thread_time() - begun < 3
    assert patched(old, found) == new


@pytest.mark.thorough
def test_rights_that_are_hard_to_judge_are_told_within_one_bound() -> None:
    """Each alone takes a tenth of a second; everything beyond the bound counts as the worst case."""
    hard = tuple(f"rye.*c{'?' * 12}*{number}b" for number in range(500))
    begun = time.thread_time()
    found = compare(
        Version("1", "", Metadata(name="x", version="1", description="")),
        Version("2", "", Metadata(name="x", version="2", description="", capabilities=hard)),
    )
    told = found.as_json()
    assert time.thread_time() - begun < 20
    assert isinstance(told["capabilities"], dict)
    rights = told["capabilities"]["widened"]
    assert len(rights) == 500
    assert max(rights, key=lambda right: str(right["capability"]))["tier"] == "unrestricted"


def test_signatures_are_no_difference_unless_nothing_else_is() -> None:
    def version(line: str, words: str) -> Version:
        return Version("x", f"<!-- rye:signed:{line} -->\n{words}\n", Metadata(name="x", version="1", description=""))

    assert compare(version("2026:a:b:c", "One."), version("2027:d:e:f", "Two.")).text[3:] == (
        " <!-- rye:signed:… -->",
        "-One.",
        "+Two.",
        " ",
    )
    only = compare(version("2026:a:b:c", "One."), version("2027:d:e:f", "One.")).text
    assert "-<!-- rye:signed:2026:a:b:c -->" in only
