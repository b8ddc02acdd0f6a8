"""What the policies forbid in a run, and what they ask, action by action (docs/explanation/runtime.md)."""

from __future__ import annotations

import pytest

from rye.permissions.policy import Policy
from rye.permissions.risk import Tier
from rye.runtime.approvals import Answer
from rye.runtime.limits import Limits
from rye.runtime.rules import Rules

SHELL, READ = "rye.execute.tool.acme.shell.run", "rye.load.tool.acme.fs.read"


def test_rules_that_say_nothing_forbid_nothing() -> None:
    rules = Rules()
    assert (rules.policy, rules.approval, rules.limits) == (Policy(), (), Limits())
    for action in (SHELL, READ, "rye.search.tool", "rye.sign.tool.acme.x"):
        assert rules.forbids(action) is False


def test_a_forbidden_pattern_forbids_searches_without_an_id_as_well() -> None:
    rules = Rules(Policy(forbidden=("rye.search.tool", "*.shell.*")))
    assert [rules.forbids(action) for action in ("rye.search.tool", SHELL, READ, "rye.search.agent")] == [
        True, True, False, False,
    ]  # fmt: skip


def test_every_set_of_allowed_patterns_must_have_one_that_matches() -> None:
    rules = Rules(Policy(allowed=(("rye.load.*", "rye.execute.*"), ("*.acme.*",))))
    assert rules.forbids(READ) is False
    assert rules.forbids(SHELL) is False
    assert rules.forbids("rye.load.tool.other.x") is True
    assert rules.forbids("rye.sign.tool.acme.x") is True
    assert Rules(Policy(allowed=((),))).forbids(READ) is True


def test_a_search_without_an_id_is_left_to_its_results() -> None:
    rules = Rules(Policy(allowed=(("rye.load.*",),), maximum_tier=Tier.SAFE))
    assert rules.forbids("rye.search.tool") is False
    assert rules.forbids("rye.search.tool.acme.fs.read") is True


@pytest.mark.parametrize("level", list(Tier))
def test_executing_and_signing_count_towards_the_maximum_tier_and_reading_does_not(level: Tier) -> None:
    rules = Rules(Policy(maximum_tier=level))
    assert rules.forbids(SHELL) is (level < Tier.ELEVATED)
    assert rules.forbids("rye.sign.tool.acme.x") is (level < Policy().tier("rye.sign.tool.acme.x"))
    assert rules.forbids(READ) is False
    assert rules.forbids("rye.search.tool.acme.shell.run") is False


@pytest.mark.parametrize(
    ("table", "primary", "said"),
    [
        ({}, "execute", "ask"),
        ({"rye.execute.*": "allow"}, "execute", "allow"),
        ({"rye.execute.*": "deny"}, "execute", "deny"),
        ({"rye.sign.*": "allow"}, "sign", "ask"),
        ({"rye.sign.*": "deny"}, "sign", "deny"),
        ({}, "sign", "ask"),
        ({}, "load", "allow"),
        ({"rye.load.*": "ask"}, "load", "ask"),
        ({}, "search", "allow"),
    ],
)
def test_signing_asks_at_least_and_reading_does_not_unless_a_row_says_so(
    table: dict[str, Answer], primary: str, said: Answer
) -> None:
    assert Rules(approval=(table,)).answer(primary, f"rye.{primary}.tool.acme.shell.run") == said


# Rules that change during a run

READS = "rye.load.*"


def test_what_the_run_started_with_forbids_stays_forbidden_and_what_came_later_is() -> None:
    start = Rules(Policy(forbidden=("*.shell.*",)))
    now = Rules(Policy(forbidden=(READS,))).beside(start)
    assert [now.forbids(action) for action in (SHELL, READ, "rye.search.tool")] == [True, True, False]
    assert [start.forbids(action) for action in (SHELL, READ)] == [True, False]
    third = Rules().beside(now)
    assert [third.forbids(action) for action in (SHELL, READ, "rye.search.tool")] == [True, True, False]


@pytest.mark.parametrize(
    ("start", "later", "said"),
    [
        ("allow", "allow", "allow"),
        ("ask", "allow", "ask"),
        ("allow", "ask", "ask"),
        ("deny", "allow", "deny"),
        ("allow", "deny", "deny"),
        ("deny", "ask", "deny"),
        ("ask", "deny", "deny"),
    ],
)
def test_the_stricter_of_both_answers_counts(start: Answer, later: Answer, said: Answer) -> None:
    now = Rules(approval=({"rye.execute.*": later},)).beside(Rules(approval=({"rye.execute.*": start},)))
    assert now.answer("execute", SHELL) == said
    signing = Rules(approval=({"rye.sign.*": later},)).beside(Rules(approval=({"rye.sign.*": start},)))
    assert signing.answer("sign", "rye.sign.tool.acme.x") == ("deny" if said == "deny" else "ask")


def test_each_limit_is_the_lower_of_both() -> None:
    start, later = Rules(limits=Limits(calls=5, tool_seconds=60)), Rules(limits=Limits(calls=9, tool_seconds=30))
    assert later.beside(start).limits == start.beside(later).limits == Limits(calls=5, tool_seconds=30)
    assert later.beside(Rules()).limits == later.limits
