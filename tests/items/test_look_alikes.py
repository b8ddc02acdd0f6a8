"""Names that people may confuse are found; other names are not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.items.identity import Identity, fold
from rye.items.look_alikes import LIKELIEST, NameIndex, is_close, likeliest, one_apart
from tests.scenes.effort import tries

pytestmark = pytest.mark.slow

names = st.text("abl1-_io0", min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("acme", "acne"),  # changed
        ("acme", "acm"),  # dropped
        ("acme", "accme"),  # added
        ("acme", "amce"),  # swapped
        ("deploy_all", "deploy-all"),  # folded
        ("tool", "too1"),
        ("lo_ol", "100-1"),
        ("acme", "acrne"),  # two letters drawn like one
        ("work", "vvork"),
        ("modern", "rnodem"),  # twice
    ],
)
def test_close(one: str, other: str) -> None:
    assert is_close(one, other)
    assert is_close(other, one)


@pytest.mark.parametrize(("one", "other"), [("acme", "acme"), ("acme", "apex"), ("acme", "acmexy"), ("ab", "ba12")])
def test_not_close(one: str, other: str) -> None:
    assert not is_close(one, other)
    assert not is_close(other, one)


@settings(max_examples=300)
@given(names, names)
def test_the_distance_is_the_one_of_one_edit(one: str, other: str) -> None:
    letters = "abl1-_io0"
    edits = {one[:i] + one[i + 1 :] for i in range(len(one))}
    edits |= {one[:i] + letter + one[i:] for i in range(len(one) + 1) for letter in letters}
    edits |= {one[:i] + letter + one[i + 1 :] for i in range(len(one)) for letter in letters}
    edits |= {one[:i] + one[i + 1] + one[i] + one[i + 2 :] for i in range(len(one) - 1)}
    near = one != other and (other in edits or fold(one) == fold(other))
    assert is_close(one, other) == near


segments = st.from_regex(r"[a-c1l][a-c1l0o_-]{0,7}", fullmatch=True)


@settings(max_examples=300)
@given(segments, segments)
def test_every_spelling_one_letter_apart_is_known(one: str, other: str) -> None:
    close = is_close(one, other) and (fold(one) != fold(other) or _is_one_edit(one, other))
    assert (other in one_apart(one)) == close


def _is_one_edit(one: str, other: str) -> bool:
    """Told without the code under test: one spelling with a letter taken out of each, or with two swapped."""
    if abs(len(one) - len(other)) == 1:
        long, short = (one, other) if len(one) > len(other) else (other, one)
        return any(long[:at] + long[at + 1 :] == short for at in range(len(long)))
    places = [at for at in range(min(len(one), len(other))) if one[at] != other[at]]
    if len(one) != len(other) or len(places) > 2:
        return False
    first, last = places[0], places[-1]
    return first == last or (last == first + 1 and (one[first], one[last]) == (other[last], other[first]))


@given(segments)
def test_the_likeliest_are_few_and_among_those_that_are_close_or_spelled_without_separators(one: str) -> None:
    spelled = likeliest(one)
    assert len(spelled) == len(set(spelled)) <= LIKELIEST
    assert all(is_close(one, other) for other in spelled)


def test_the_likeliest_slips_are_among_them() -> None:
    spelled = likeliest("open-ai")
    assert {"openai", "open_ai", "opne-ai", "open-al", "0pen-ai", "opn-ai", "oppen-ai"} <= set(spelled)
    assert len(likeliest("abcd" * 16)) == LIKELIEST
    assert "acrne" in likeliest("acme")
    assert "acme" in likeliest("acrne")
    assert {"acme", "acrn"} <= one_apart("acrne")
    assert "vw" not in likeliest("vvv"), "that is drawn otherwise"


def test_only_names_that_a_registry_can_have_are_spelled() -> None:
    assert "-cme" not in one_apart("acme")
    assert "con" not in one_apart("cxn"), "a device of Windows"
    assert all(len(one) <= 64 for one in one_apart("a" * 64))


def test_an_item_is_compared_with_those_of_other_namespaces_only() -> None:
    new = Identity("tool", "evil/tools/file-systen")
    taken = Identity("tool", "core/tools/file-system")
    own = Identity("tool", "evil/tools/file-system")
    same = Identity("tool", "core/tools/file-systen")
    squat = Identity("tool", "evi1/tools/file-systen")
    assert NameIndex([own, taken, same, squat]).near(new) == [taken, squat]
    redrawn = Identity("tool", "evil/tools/forrn-fill")
    assert NameIndex([Identity("tool", "core/tools/form-fill")]).near(redrawn) != [], "of items as of namespaces"


@settings(max_examples=200)
@given(st.text("ab1-", min_size=1, max_size=14), st.text("ab1-", min_size=1, max_size=14))
def test_the_index_finds_what_comparing_with_everything_finds(one: str, other: str) -> None:
    new, taken = Identity("tool", f"n1/{one}"), Identity("tool", f"other/{other}")
    expected = min(len(one), len(other)) >= 5 and is_close(one, other)
    assert NameIndex([taken]).near(new) == ([taken] if expected else [])


def test_a_look_among_many_names_is_not_a_comparison_with_each() -> None:
    names = tries(20_000, 100_000)
    index = NameIndex(Identity("tool", f"team{n % 500}/area{n % 37}/thing-{n}") for n in range(names))
    begun = time.process_time()
    for n in range(10):
        index.near(Identity("tool", f"mine/area{n}/something-{n}"))
    assert time.process_time() - begun < names / 5_000


def test_short_names_are_alike_by_chance() -> None:
    assert NameIndex([Identity("tool", "two/a/c")]).near(Identity("tool", "one/a/b")) == []
