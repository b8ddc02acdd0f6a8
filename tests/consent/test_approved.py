"""What a row of rye.lock approves: one value, and the keys by which the file says it (DESIGN 6.1)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rye.consent.ask import NOTHING, Approved, Ask, Key, approved_in, approving, row_fields
from rye.items.consented import HookAction, Run

RUN = Run("tool-code", "run.py", "python", "ab" * 32)
HOOK = HookAction("x > 1", "tool", "acme/ops/alarm")
KEYS = (Key("right", "approved-rights"), Key("run", "approved-runs", "runs"), Key("hook", "approved-hooks", "hooks"))
TEXT = Ask("tool:acme/fs/read", "right", "rye.load.*", subject="made from this")


def row(**fields: Any) -> SimpleNamespace:
    """The fields of a row as a file without approvals gives them, but for these."""
    return SimpleNamespace(**{**{name: default for name, _type, default in row_fields(KEYS)}, **fields})


# One thing that needs a yes


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (Ask("tool:acme/fs/read", "right", "rye.load.*"), True),
        (Ask("tool:acme/fs/writ", "right", "rye.load.*"), False),
        (Ask("tool:acme/fs/read", "state", "rye.load.*"), False),
        (Ask("tool:acme/fs/read", "right", "rye.sign.*"), False),
        (("tool:acme/fs/read", "right", "rye.load.*"), False),
    ],
)
def test_two_are_the_same_by_item_sort_and_text(other: object, same: bool) -> None:
    assert (other == TEXT) is same
    assert len({TEXT, other}) == (1 if same else 2)


def test_they_are_ordered_by_item_then_sort_then_text() -> None:
    first, second, third = Ask("a", "b", "z"), Ask("a", "c", "a"), Ask("b", "a", "a")
    assert sorted([third, second, first]) == [first, second, third]
    assert first < Ask("a", "b", "zz")
    assert not first < Ask("a", "b", "z")


# What a row approves


def test_what_is_given_is_sorted_by_name_and_nothing_is_left_out() -> None:
    made = approving(3, "SHA256:a", tool=["Read"], run=[RUN], right=[])
    assert made == Approved((("run", (RUN,)), ("tool", ("Read",))), 3, "SHA256:a")
    assert (made.of("run"), made.of("tool"), made.of("right"), made.of("hook")) == ((RUN,), ("Read",), (), ())
    assert approving() == NOTHING == Approved((), 1, None)


@pytest.mark.parametrize(
    ("signer", "is_pending", "is_nothing", "counts"),
    [(None, False, False, "SHA256:now"), ("", True, True, ""), ("SHA256:last", True, False, "SHA256:last")],
)
def test_who_signed_what_was_approved(signer: str | None, is_pending: bool, is_nothing: bool, counts: str) -> None:
    made = approving(1, signer)
    assert (made.is_pending, made.is_nothing, made.signer_of("SHA256:now")) == (is_pending, is_nothing, counts)


def test_other_values_replace_those_of_their_names_and_leave_the_rest() -> None:
    made = approving(3, "SHA256:a", tool=["Read"], right=["rye.load.*"])
    assert made.but(tool=["Bash"]) == approving(3, "SHA256:a", tool=["Bash"], right=["rye.load.*"])
    assert made.but(tool=[], run=[RUN]) == approving(3, "SHA256:a", right=["rye.load.*"], run=[RUN])


def test_tools_come_with_their_restrictions() -> None:
    assert approving().tools is None
    tools = approving(tool=["Read"], limit=["blocked Edit"]).tools
    assert tools is not None
    assert tools.names == ("Read",)
    assert tools.limits
    only = approving(limit=["blocked Edit"]).tools
    assert only is not None
    assert only.limits == tools.limits


# The keys of the file


def test_every_key_is_a_field_that_approves_nothing_by_itself() -> None:
    assert row_fields(KEYS) == [
        ("approved_rights", tuple[str, ...], ()),
        ("approved_runs", tuple[Run, ...], ()),
        ("approved_hooks", tuple[HookAction, ...], ()),
        ("facts_rules", int, 1),
        ("approved_signer", str | None, None),
    ]
    assert approved_in(row(), KEYS) is NOTHING


@pytest.mark.parametrize(
    ("fields", "approved"),
    [
        ({"approved_rights": ("rye.load.*",)}, approving(right=["rye.load.*"])),
        ({"approved_runs": (RUN,), "approved_hooks": (HOOK,)}, approving(run=[RUN], hook=[HOOK])),
        ({"facts_rules": 7}, approving(7)),
        ({"approved_signer": ""}, approving(1, "")),
        (
            {"facts_rules": 7, "approved_signer": "SHA256:a", "approved_runs": (RUN,)},
            approving(7, "SHA256:a", run=[RUN]),
        ),
    ],
)
def test_each_field_of_a_row_is_read(fields: dict[str, Any], approved: Approved) -> None:
    assert approved_in(row(**fields), KEYS) == approved
