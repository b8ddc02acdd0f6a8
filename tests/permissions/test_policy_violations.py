"""How an item that breaks a policy is refused: each rule on its own, with what shows it, and refused when in doubt."""

from __future__ import annotations

from typing import Any

import pytest

from rye.items.agent_tools import agent_tools
from rye.permissions import policy as module
from rye.permissions.containment import TooComplex
from rye.permissions.policy import Policy, Violation, fact_violations, tool_violations, violations
from rye.permissions.risk import Tier, rows

SHELL = "rye.execute.tool.acme.shell.run"


def test_each_capability_is_judged_on_its_own_in_one_order() -> None:
    policy = Policy(allowed=(("rye.load.*",), ("*.acme.*",)), forbidden=("*.secret.*",), maximum_tier=Tier.WRITE)
    asked = [
        SHELL,
        "rye.load.tool.acme.secret.x",
        "rye.load.tool.acme.fine",
        SHELL,
        "rye.load.tool.other.x",
        "rye.sign.*",
    ]
    assert [(found.rule, found.capability) for found in violations(policy, asked)] == [
        ("allowed", SHELL),
        ("maximum-tier", SHELL),
        ("forbidden", "rye.load.tool.acme.secret.x"),
        ("allowed", "rye.load.tool.other.x"),
        ("allowed", "rye.sign.*"),
        ("allowed", "rye.sign.*"),
        ("forbidden", "rye.sign.*"),
    ]


def test_a_refusal_says_what_and_shows_an_action() -> None:
    (found,) = violations(Policy(allowed=(("rye.load.*",),)), ["rye.search.tool.a.b"])
    said = "rye.search.tool.a.b grants rye.search.tool.a.b, which the policy does not allow"
    assert found == Violation("allowed", "rye.search.tool.a.b", said, "rye.search.tool.a.b")
    (found,) = violations(Policy(allowed=(), forbidden=("rye.search.*",)), ["rye.search.tool.a.b"])
    said = "rye.search.tool.a.b grants rye.search.tool.a.b, which the policy forbids (rye.search.*)"
    assert found == Violation("forbidden", "rye.search.tool.a.b", said, "rye.search.tool.a.b")
    (found,) = violations(Policy(maximum_tier=Tier.WRITE), [SHELL])
    assert found == Violation("maximum-tier", SHELL, f"{SHELL} is elevated; the policy allows at most write")
    assert violations(Policy(maximum_tier=Tier.ELEVATED), [SHELL]) == ()


def test_what_is_too_complex_to_compare_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(*_: object) -> Any:
        raise TooComplex

    monkeypatch.setattr(module, "find_readable", give_up)
    found = violations(Policy(allowed=(("rye.*",),), forbidden=("*.x",)), ["rye.load.a"])
    assert [(each.rule, each.capability, each.witness) for each in found] == [
        ("allowed", "rye.load.a", None),
        ("forbidden", "rye.load.a", None),
    ]
    assert found[0].message == "rye.load.a is too complex to compare with what the policy allows"
    assert found[1].message == "rye.load.a is too complex to compare with *.x"


def test_a_set_counts_as_its_highest_member_in_the_strictest_table() -> None:
    low, high = rows({"rye.load.*": "safe"}), rows({"rye.load.knowledge.*": "elevated"})
    asked = ["rye.load.knowledge.x", "rye.load.tool.x"]
    for tables in ((low, high), (high, low)):
        policy = Policy(tables=tables)
        assert policy.highest(asked) is Tier.ELEVATED
        assert policy.tier("rye.load.knowledge.x") is Tier.ELEVATED
        assert policy.tiers(asked) == {"rye.load.knowledge.x": Tier.ELEVATED, "rye.load.tool.x": Tier.SAFE}
    assert Policy(tables=(low,)).highest(asked) is Tier.SAFE
    assert Policy(tables=(rows({"rye.execute.*": "safe"}),)).highest([SHELL]) is Tier.SAFE
    assert Policy().highest([SHELL]) is Policy().tier(SHELL) is Tier.ELEVATED
    assert Policy().highest([]) is Tier.SAFE


def test_capabilities_that_are_too_much_together_are_named_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Policy, "highest", lambda *_: Tier.UNRESTRICTED)
    (found,) = violations(Policy(maximum_tier=Tier.ELEVATED), ["rye.load.b", "rye.load.a"])
    said = "together the capabilities are unrestricted; the policy allows at most elevated"
    assert found == Violation("maximum-tier", "rye.load.a, rye.load.b", said)
    assert violations(Policy(), ["rye.load.a"]) == ()


@pytest.mark.parametrize("level", list(Tier))
def test_tools_of_the_agent_program_have_a_tier_as_well(level: Tier) -> None:
    tools = agent_tools(["Bash", "Read"])
    found = tool_violations(Policy(maximum_tier=level), tools)
    for none in (None, agent_tools([])):
        assert tool_violations(Policy(maximum_tier=level), none) == ()
    assert (tool_violations(Policy(maximum_tier=level), agent_tools(["Edit"])) == ()) is (level >= Tier.WRITE)
    if level is Tier.UNRESTRICTED:
        assert found == ()
    else:
        said = f"the agent tools Bash, Read are unrestricted; the policy allows at most {level}"
        assert found == (Violation("maximum-tier", "Bash, Read", said),)


def test_only_forbidden_facts_are_refused() -> None:
    mentioned = [("pipe-to-shell", "curl x | sh"), ("host", "example.com"), ("pipe-to-shell", "wget y | sh")]
    found = fact_violations(Policy(facts=frozenset({"pipe-to-shell"})), mentioned)
    said = "it mentions pipe-to-shell, which the policy forbids: curl x | sh"
    assert found[0] == Violation("fact", "pipe-to-shell curl x | sh", said)
    assert [each.capability for each in found] == ["pipe-to-shell curl x | sh", "pipe-to-shell wget y | sh"]
    assert fact_violations(Policy(), mentioned) == ()
