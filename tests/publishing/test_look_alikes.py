"""Names that people may confuse are found; other names are not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.items.identity import Identity
from rye.publishing.look_alikes import NameIndex, is_close
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
    from rye.items.identity import fold

    near = one != other and (other in edits or fold(one) == fold(other))
    assert is_close(one, other) == near


def test_an_item_is_compared_with_those_of_other_namespaces_only() -> None:
    new = Identity("tool", "evil/tools/file-systen")
    taken = Identity("tool", "core/tools/file-system")
    own = Identity("tool", "evil/tools/file-system")
    same = Identity("tool", "core/tools/file-systen")
    squat = Identity("tool", "evi1/tools/file-systen")
    assert NameIndex([own, taken, same, squat]).near(new) == [taken, squat]


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
