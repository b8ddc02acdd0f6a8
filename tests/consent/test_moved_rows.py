"""What rye.lock has in place of what this user agreed to last: by bytes, for each item, in this checkout (DESIGN 7.1)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from rye.consent.agreement import (
    Agreement,
    MovedRow,
    by_other_rules,
    byte_approval,
    byte_approvals,
    bytes_hash,
    installed_state,
    late_alarms,
    late_notice,
    refused_alarms,
)
from rye.consent.ask import Ask, approving
from rye.items.signed_release import Mention
from rye.project.lock import LockedFile, LockedItem, LockedSource
from rye.text.facts.fact import RULES_VERSION

OLD, NEW = "ab" * 32, "cd" * 32
SIGNED = LockedItem(
    kind="skill",
    id="acme/pdf",
    version="1.0.0",
    size=12,
    sha256=OLD,
    suffix="SKILL.md",
    registry="registry.example",
    log=0,
    keyset=1,
    signer="SHA256:a",
)
GIT = LockedSource(place="skills/pdf", git="https://git.example/kit.git", commit="1" * 40)
ORIGIN = "git+https://git.example/kit.git"
UNSIGNED = replace(SIGNED, registry=ORIGIN, signer=ORIGIN, source=GIT)
"""A row of a git source that no trusted key signed."""


def knows(*rows: LockedItem, also: Iterable[Ask] = ()) -> Agreement:
    """A user who installed these rows."""
    return Agreement(frozenset(ask.line for ask in (*byte_approvals(rows), *also)))


def pulled(row: LockedItem, version: str = "1.1.0") -> LockedItem:
    """The row after somebody else's update."""
    return replace(row, version=version, sha256=NEW)


# What bytes are remembered by


def test_bytes_are_named_by_their_own_hash_and_by_each_path_with_its_hash_in_order() -> None:
    row = replace(SIGNED, attached=(LockedFile("a.sh", 1, "11" * 32), LockedFile("b.sh", 1, "22" * 32)))
    whole = f"{OLD}\na.sh {'11' * 32}\nb.sh {'22' * 32}"
    assert byte_approval(row) == Ask("skill:acme/pdf", "text", hashlib.sha256(whole.encode()).hexdigest()[:32])
    assert bytes_hash(OLD, [("a.sh", "1"), ("b.sh", "2")]) != bytes_hash(OLD, [("b.sh", "2"), ("a.sh", "1")])
    assert bytes_hash(OLD, []) != bytes_hash(NEW, [])


def test_a_state_has_a_name_for_diff_the_bytes_the_own_file_and_where_it_is_from() -> None:
    assert installed_state(SIGNED) == Ask(
        "skill:acme/pdf",
        "state",
        f"skill:acme/pdf@1.0.0 {byte_approval(SIGNED).text} {OLD} registry.example",
    )
    commit = installed_state(UNSIGNED).text.split(" ")
    assert commit == [UNSIGNED.state, byte_approval(UNSIGNED).text, OLD, ORIGIN]
    folder = replace(UNSIGNED, source=replace(GIT, commit=None))
    assert folder.state is None
    assert installed_state(folder).text.startswith("skill:acme/pdf@1.0.0 ")


def test_bytes_and_state_of_each_row_are_remembered() -> None:
    other = replace(SIGNED, id="acme/xlsx")
    found = byte_approvals([SIGNED, other])
    assert found == {ask(row) for row in (SIGNED, other) for ask in (byte_approval, installed_state)}
    assert knows(SIGNED).knows_bytes(replace(SIGNED, version="9.0.0"))
    assert not knows(SIGNED).knows_bytes(pulled(SIGNED))


# What moved


def test_what_is_installed_as_it_was_has_not_moved_and_neither_has_what_was_never_installed() -> None:
    assert knows(SIGNED).moved([SIGNED]) == ()
    assert Agreement().moved([SIGNED]) == ()
    assert knows(SIGNED).moved([replace(SIGNED, id="acme/xlsx")]) == ()
    assert knows(SIGNED).moved([replace(SIGNED, version="1.0.1")]) == (), "the same bytes under another version"


def test_signed_bytes_that_moved_are_told_with_both_states() -> None:
    new = pulled(SIGNED)
    [moved] = knows(SIGNED).moved([new])
    assert moved == MovedRow(
        row=new,
        before="skill:acme/pdf@1.0.0",
        is_unseen=False,
        is_comparable=True,
        bytes_before=byte_approval(SIGNED).text,
        own_before=OLD,
    )
    assert (moved.states, moved.command) == ("1.0.0 → 1.1.0", "rye diff skill:acme/pdf@1.0.0 skill:acme/pdf@1.1.0")


def test_another_registry_is_named_although_the_version_is_the_same() -> None:
    elsewhere = replace(SIGNED, sha256=NEW, registry="other.example")
    [moved] = knows(SIGNED).moved([elsewhere])
    assert moved.states == "1.0.0 → 1.0.0, from registry.example to other.example"
    assert moved.command == "rye show skill:acme/pdf"


def test_one_that_moved_hides_no_other() -> None:
    kept, editable, waiting = (replace(SIGNED, id=f"acme/{name}") for name in ("a", "b", "c"))
    editable = replace(editable, source=LockedSource(place="b", path="../b", editable=True))
    waiting = replace(waiting, approved=approving(1, "SHA256:a"))
    last = replace(SIGNED, id="acme/z")
    user = knows(kept, editable, waiting, SIGNED, last)
    moved = user.moved([kept, pulled(editable), pulled(waiting), pulled(SIGNED), pulled(last)])
    assert [str(one.row.identity) for one in moved] == ["skill:acme/pdf", "skill:acme/z"]


@pytest.mark.parametrize(
    "new",
    [
        replace(pulled(SIGNED), registry="other.example"),
        pulled(SIGNED, "1.0.0"),
        replace(pulled(UNSIGNED), source=replace(GIT, commit=None)),
    ],
    ids=["another registry", "the same version", "a folder"],
)
def test_states_that_diff_does_not_have_are_shown_as_a_whole(new: LockedItem) -> None:
    agreed = knows(SIGNED, also=[Ask("skill:acme/pdf", "source", ORIGIN)])
    [moved] = agreed.moved([new])
    assert not moved.is_comparable
    assert moved.command == "rye show skill:acme/pdf"


def test_unsigned_bytes_wait_for_a_yes_of_a_user_who_agreed_to_their_source() -> None:
    new = replace(pulled(UNSIGNED), source=replace(GIT, commit="2" * 40))
    source = Ask("skill:acme/pdf", "source", ORIGIN)
    assert knows(UNSIGNED).moved([new]) == (), "asked about with its items"
    [moved] = knows(UNSIGNED, also=[source]).moved([new])
    assert (moved.is_unseen, moved.is_comparable) == (True, True)
    before, after = (row.state.rpartition("@")[2] for row in (UNSIGNED, new) if row.state is not None)
    assert moved.needs == Ask("skill:acme/pdf", "unsigned-text", f"{before} → {after}")
    assert moved.needs.subject is moved
    other = Agreement(frozenset([source.line]))
    [unknown] = other.moved([new])
    assert (unknown.before, unknown.states, unknown.is_comparable, unknown.bytes_before) == (None, after, False, "")
    back = knows(UNSIGNED, new, also=[source])
    assert not any(one.is_unseen for one in back.moved([UNSIGNED, new])), "agreed to once, signed or not"


@pytest.mark.parametrize(
    "line",
    [
        "no JSON",
        "17",
        "[1, 2]",
        '["skill:acme/pdf", "state"]',
        '[17, "state", "a b c d"]',
        '["skill:acme/pdf", 17, "a b c d"]',
        '["skill:acme/pdf", "state", 17]',
        '["skill:acme/pdf", "state", "three parts only"]',
        '["skill:acme/pdf", "text", "a b c d"]',
        "[" * 100_000,
    ],
)
def test_a_line_that_is_no_state_says_nothing(line: str) -> None:
    assert Agreement(frozenset([line])).moved([pulled(SIGNED)]) == ()
    assert [one.before for one in Agreement(frozenset([line, *knows(SIGNED).lines])).moved([pulled(SIGNED)])] == [
        "skill:acme/pdf@1.0.0"
    ]


def test_an_origin_may_have_spaces() -> None:
    row = replace(SIGNED, registry="folder my items")
    assert knows(row).moved([row]) == ()
    assert [one.is_comparable for one in knows(row).moved([pulled(row)])] == [True]


# Alarms that other rules find


ALARM = Mention("pipe-to-shell", "curl x | sh", "alarm", "SKILL.md", 3)
CAUTION = Mention("safety-off", "sudo", "caution", "SKILL.md", 4)
BY_OTHERS = replace(SIGNED, approved=approving(RULES_VERSION - 1, fact=(CAUTION.word,)))


@pytest.mark.parametrize(
    ("row", "late"),
    [
        (BY_OTHERS, True),
        (replace(SIGNED, approved=approving(RULES_VERSION)), False),
        (replace(SIGNED, approved=approving(RULES_VERSION - 1, "SHA256:a")), False),
        (replace(BY_OTHERS, source=LockedSource(place="b", path="../b", editable=True)), False),
    ],
    ids=["installed", "by these rules", "written by rye lock", "an editable folder"],
)
def test_alarms_are_late_only_where_other_rules_judged_the_very_bytes(row: LockedItem, late: bool) -> None:
    assert by_other_rules(row) is late
    assert late_alarms(row, (ALARM, CAUTION)) == ([ALARM] if late else [])
    assert refused_alarms(row, (ALARM, CAUTION)) == ([] if late else [ALARM])
    assert (late_alarms(row, None), refused_alarms(row, None)) == ([], [])


def test_an_approved_alarm_is_neither_late_nor_refused() -> None:
    other = replace(ALARM, value="wget y | sh")
    for rules in (RULES_VERSION, RULES_VERSION - 1):
        row = replace(SIGNED, approved=approving(rules, fact=(ALARM.word,)))
        found = [*late_alarms(row, (ALARM, other)), *refused_alarms(row, (ALARM, other))]
        assert found == [other]


def test_the_notice_lists_three_and_names_all_in_one_command() -> None:
    late = [(replace(BY_OTHERS, id=f"acme/{name}"), [ALARM, replace(ALARM, value="second")]) for name in "abcd"]
    said, command = late_notice(late)
    assert said.count("curl x | sh") == 3
    assert "second" not in said
    assert said.endswith("; and 1 more")
    assert "; skill:acme/b " in said
    assert " ".join(f"--approve skill:acme/{name}@1.0.0" for name in "abcd") in command
    assert "more" not in late_notice(late[:3])[0].partition(": ")[2]
