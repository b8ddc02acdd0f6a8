"""Three locks are merged by row, and what a person agreed to on one side is not lost (ecosystem: merge driver)."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from rye.consent.ask import approving
from rye.project.lock import Lock, LockedItem, is_conflicted, lock_text, parse_lock
from rye.project.lock_conflict import conflict_text, join_sides, merge, sides

NAMES = tuple(f"acme/work/{name}" for name in "abcdef")


def row(name: str, version: str = "1.0.0", *rights: str) -> LockedItem:
    return LockedItem(
        kind="directive",
        id=name,
        version=version,
        size=10,
        sha256="ab" * 32,
        suffix=".md",
        registry="registry.example.org",
        log=1,
        keyset=1,
        signer="SHA256:" + "A" * 43,
        capabilities=rights,
        approved=approving(right=rights) if rights else approving(),
    )


def lock(*rows: LockedItem) -> Lock:
    return Lock({each.id: f"^{each.version}" for each in rows}, rows)


BASE = lock(row("acme/work/a"), row("acme/work/b"))


def versions(items: Iterable[LockedItem]) -> dict[str, str]:
    return {each.id: each.version for each in items}


def test_what_one_side_changed_is_taken_with_what_it_approves() -> None:
    ours = lock(row("acme/work/a", "1.1.0", "rye.execute.tool.x"), row("acme/work/b"), row("acme/work/c"))
    theirs = lock(row("acme/work/a"), row("acme/work/d", "2.0.0", "rye.load.knowledge.*"))
    merged = merge(BASE, ours, theirs)
    assert merged.is_clean
    assert versions(merged.ours.items) == {"acme/work/a": "1.1.0", "acme/work/c": "1.0.0", "acme/work/d": "2.0.0"}
    assert merged.ours.wanted == {"acme/work/a": "^1.1.0", "acme/work/c": "^1.0.0", "acme/work/d": "^2.0.0"}
    approved = {each.id: each.approved for each in merged.ours.items}
    assert approved["acme/work/a"] == approving(right=("rye.execute.tool.x",))
    assert approved["acme/work/d"] == approving(right=("rye.load.knowledge.*",))
    assert parse_lock(merged.text) == parse_lock(lock_text(merged.ours))


def test_only_what_both_changed_differently_stays_in_conflict() -> None:
    ours = lock(row("acme/work/a", "1.1.0"), row("acme/work/b", "1.1.0", "rye.execute.*"), row("acme/work/c"))
    theirs = lock(row("acme/work/a", "1.1.0"), row("acme/work/b", "2.0.0"))
    merged = merge(BASE, ours, theirs)
    assert not merged.is_clean
    assert is_conflicted(merged.text)
    assert sides(merged.text) == (lock_text(merged.ours), lock_text(merged.theirs))
    joined = {each.id: each for each in join_sides(merged.text).lock.items}
    assert joined["acme/work/b"].version == "2.0.0"
    assert dict(joined["acme/work/b"].approved.given) == {}
    assert joined["acme/work/c"].approved == row("acme/work/c").approved


def test_a_row_that_one_side_removed_and_the_other_changed_stays_in_conflict() -> None:
    merged = merge(BASE, lock(row("acme/work/a")), lock(row("acme/work/a"), row("acme/work/b", "1.1.0")))
    assert (versions(merged.ours.items), versions(merged.theirs.items)) == (
        {"acme/work/a": "1.0.0"},
        {"acme/work/a": "1.0.0", "acme/work/b": "1.1.0"},
    )


def test_the_same_addition_on_both_sides_is_no_conflict() -> None:
    added = lock(row("acme/work/a"))
    assert merge(Lock(), added, added).is_clean


LOCKS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(("1.0.0", "1.1.0", "2.0.0"))).map(
    lambda chosen: lock(*(row(name, version) for name, version in sorted(chosen.items())))
)


@given(LOCKS, LOCKS, LOCKS)
def test_a_merge_is_symmetric_invents_nothing_and_can_be_read_back(base: Lock, ours: Lock, theirs: Lock) -> None:
    merged, swapped = merge(base, ours, theirs), merge(base, theirs, ours)
    assert (lock_text(merged.ours), lock_text(merged.theirs)) == (lock_text(swapped.theirs), lock_text(swapped.ours))
    for side in (merged.ours, merged.theirs):
        assert set(side.items) <= {*ours.items, *theirs.items}
    assert sides(merged.text) == (lock_text(merged.ours), lock_text(merged.theirs))
    assert merge(base, ours, base).text == lock_text(ours)


@given(st.text("ab[]\n", max_size=40), st.text("ab[]\n", max_size=40))
def test_any_two_texts_come_back_from_the_markers(ours: str, theirs: str) -> None:
    ends = [text if not text or text.endswith("\n") else f"{text}\n" for text in (ours, theirs)]
    assert list(sides(conflict_text(ours, theirs))) == ends
