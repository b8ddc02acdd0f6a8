"""The table of sorts: what covers what, what stops, and what rye.lock keeps (DESIGN 7)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from rye.consent.ask import NOTHING, Ask, approving
from rye.consent.changes import ItemStep, NewSigner, asks_of
from rye.consent.sorts import SORTS, approvals, approves_nothing, lock_keys, of_the_lock, row_of, sort_of
from rye.items.consented import HookAction, Run
from rye.items.signed_release import Mention
from rye.project.lock import LockedItem, LockedSource
from tests.scenes.approvals import but, changed

HASH = "ab" * 32
HOOK, OTHER = HookAction("x > 1", "tool", "acme/a"), HookAction("x > 2", "tool", "acme/a")
RUN = Run("attached-file", "run.sh", "executable", HASH)
ALARM, CAUTION = Mention("pipe-to-shell", "curl", "alarm", "a", 1), Mention("safety-off", "sudo", "caution", "a", 2)
ITEM = LockedItem(
    kind="skill", id="acme/pdf", version="1.0.0", size=1, sha256=HASH, suffix="SKILL.md", registry="registry.example",
    log=1, keyset=1, signer="SHA256:a", capabilities=("rye.load.a",), hooks=(HOOK,), agent_tools=("Read",),
    agent_limits=("blocked Write",), runs=(RUN,),
)  # fmt: skip
AGREED = replace(
    ITEM,
    approved=approving(right=("rye.load.a",), hook=(HOOK,), tool=("Read",), limit=("blocked Write",), run=(RUN,)),
)
WHOLE = {"right": ("rye.load.a",), "hook": (HOOK,), "tool": ("Read",), "run": (RUN,)}


def asked(was: LockedItem | None, wanted: LockedItem, **more: Any) -> set[str]:
    return {ask.sort for ask in asks_of(ItemStep(was=was, wanted=wanted, **more))}


def test_names_and_keys_are_unique_and_the_lock_has_those_that_it_approves() -> None:
    assert len({sort.name for sort in SORTS}) == len(SORTS) == 22
    assert len({key.key for key in lock_keys()}) == len(lock_keys()) == 6
    assert sort_of("nothing of this version") is None
    assert of_the_lock([Ask("a", "nothing of this version", "b")]) == []


def test_a_first_installation_asks_for_all_and_an_agreed_item_for_nothing() -> None:
    assert asked(None, ITEM) == set(WHOLE)
    assert asked(AGREED, ITEM) == set()
    assert asked(ITEM, replace(ITEM, version="2.0.0")) == set(WHOLE) - {"hook"}  # it had the hook, denied


@pytest.mark.parametrize(
    ("sort", "more"),
    [
        ("right", {"capabilities": ("rye.load.*",)}),
        ("hook", {"hooks": (HOOK, OTHER)}),
        ("tool", {"agent_tools": ("Read", "Bash")}),
        ("tool", {"agent_limits": ()}),
        ("run", {"runs": (replace(RUN, sha256=HASH[:-1] + "c"),)}),
        ("forced", {"forced": "^1"}),
        ("signer", {"signer": "SHA256:b"}),
    ],
)
def test_an_update_asks_for_what_is_new_and_waits_for_a_yes(sort: str, more: dict[str, Any]) -> None:
    (ask,) = asks_of(ItemStep(was=AGREED, wanted=replace(ITEM, version="2.0.0", **more)))
    assert ask.sort == sort
    assert row_of(ask).stops(ask) is (sort != "forced")
    assert row_of(ask).stops_always(ask) is False
    assert row_of(ask).why([ask], True)


def test_what_is_covered_is_not_asked_for() -> None:
    wide = changed(AGREED, approved=but(right=("rye.load.*",), tool=("Read", "Bash")))
    assert asked(wide, replace(ITEM, agent_limits=("blocked Edit", "blocked Write"))) == set()
    assert asked(wide, replace(ITEM, capabilities=(), hooks=(), agent_tools=(), agent_limits=(), runs=())) == set()


def test_an_alarm_stops_always_and_a_caution_only_an_update() -> None:
    step = ItemStep(was=None, wanted=replace(AGREED, capabilities=()), mentions=(ALARM, CAUTION))
    (first,) = [ask for ask in asks_of(step) if ask.sort == "fact"]
    assert (first.subject, row_of(first).stops_always(first)) == (ALARM, True)
    update = [ask for ask in asks_of(replace(step, was=AGREED)) if ask.sort == "fact"]
    assert [row_of(ask).stops_always(ask) for ask in update] == [True, False]
    assert asked(AGREED, ITEM, mentions=(CAUTION,), mentions_before=(CAUTION,)) == set()


def test_a_source_that_rye_toml_brings_is_a_yes_and_a_folder_read_in_place_an_approval_by_name() -> None:
    for editable in (False, True):
        source = LockedSource(place="a/SKILL.md", path="../a", editable=editable)
        item = replace(AGREED, source=source, registry=source.origin, signer=source.origin)
        (ask,) = [ask for ask in asks_of(ItemStep(was=None, wanted=item, is_wanted=True)) if ask.sort == "source"]
        row = row_of(ask)
        assert (row.stops(ask), row.stops_always(ask)) == (False, editable)


def test_a_signer_is_unknown_only_until_an_item_of_it_was_approved() -> None:
    (ask,) = [a for a in asks_of(ItemStep(was=None, wanted=ITEM, known_signers=frozenset())) if a.sort == "signer"]
    assert ask.subject == NewSigner(unknown=True, registry="registry.example")
    assert "signer" not in asked(None, ITEM, known_signers=frozenset({"SHA256:a"}))
    assert "signer" not in asked(AGREED, ITEM, known_signers=frozenset())


def test_locking_keeps_of_an_approval_what_is_still_asked_for() -> None:
    less = replace(ITEM, capabilities=(), hooks=(OTHER,), agent_tools=(), agent_limits=(), runs=())
    kept = {
        name: value
        for sort in SORTS
        for name, value in sort.kept(sort.values(AGREED.approved), sort.asked(less)).items()
    }
    assert kept == {"right": (), "hook": (), "tool": (), "limit": (), "run": (), "fact": ()}
    same = {
        name: value
        for sort in SORTS
        for name, value in sort.kept(sort.values(AGREED.approved), sort.asked(ITEM)).items()
    }
    assert approving(**same) == AGREED.approved


def test_two_sides_of_a_merge_approve_what_both_do() -> None:
    for sort in SORTS:
        mine = sort.values(AGREED.approved)
        assert sort.both(mine, mine) == mine
        assert not any(sort.both(mine, sort.values(NOTHING)).values())


def test_an_approval_of_hooks_alone_is_none_that_an_update_could_widen() -> None:
    assert approves_nothing(approving(hook=(HOOK,), limit=("blocked Write",)))
    for name, value in WHOLE.items():
        assert approves_nothing(approving(**{name: value})) is (name == "hook")


def test_two_asks_are_the_same_whatever_they_were_made_from() -> None:
    (one,) = [ask for ask in approvals([AGREED]) if ask.sort == "run"]
    assert one == Ask("skill:acme/pdf", "run", one.text)
    assert len({one, Ask("skill:acme/pdf", "run", one.text, RUN)}) == 1
    assert one != Ask("skill:acme/pdf", "hook", one.text)
    assert sorted([one, Ask("a", "run", "b")])[0].item == "a"
