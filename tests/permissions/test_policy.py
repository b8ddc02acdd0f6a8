"""What a policy refuses. Combining policies can only make them stricter (DESIGN §7)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.permissions.policy import Policy, combined, violations
from rye.permissions.risk import Tier, rows
from tests.scenes.effort import tries

EXAMPLES = tries(60, 2_000)


def rules(policy: Policy, *capabilities: str) -> list[tuple[str, str]]:
    return [(violation.rule, violation.capability) for violation in violations(policy, capabilities)]


def test_the_empty_policy_allows_everything() -> None:
    assert violations(Policy(), ["rye.*", "*"]) == ()


def test_allowed_means_contained_in_the_union() -> None:
    policy = Policy(allowed=(("rye.load.[a-m]*", "rye.load.[n-z]*"),))
    assert violations(policy, ["rye.load.tool.x", "rye.load.[b-y]*"]) == ()
    assert rules(policy, "rye.load.*") == [("allowed", "rye.load.*")]
    assert rules(Policy(allowed=((),)), "rye.load.tool.x") == [("allowed", "rye.load.tool.x")]


def test_forbidden_means_any_overlap() -> None:
    policy = Policy(forbidden=("rye.execute.tool.*.shell.*",))
    assert rules(policy, "rye.execute.tool.acme.s?ell.*") == [("forbidden", "rye.execute.tool.acme.s?ell.*")]
    assert rules(policy, "rye.*") == [("forbidden", "rye.*")]
    assert rules(policy, "rye.execute.tool.acme.shell", "rye.load.*") == []


def test_a_violation_carries_an_action_that_shows_it() -> None:
    (violation,) = violations(Policy(forbidden=("*.bash.*",)), ["rye.execute.tool.acme.*"])
    assert violation.witness == "rye.execute.tool.acme.bash.a"
    assert violation.witness in violation.message


def test_the_maximum_tier_counts_the_set_as_a_whole() -> None:
    policy = Policy(maximum_tier=Tier.ELEVATED)
    assert rules(policy, "rye.execute.*") == [("maximum-tier", "rye.execute.*")]
    assert rules(policy, "rye.execute.tool.*") == []
    pieces = ("rye.execute.tool.*", "rye.execute.directive.*", "rye.execute.knowledge.*")
    assert [rule for rule, _ in rules(policy, *pieces)] == ["maximum-tier"]


def test_signers_of_every_set_are_needed() -> None:
    policy = combined([Policy(signers=(frozenset({"a", "b"}),)), Policy(signers=(frozenset({"b", "c"}),))])
    assert policy.accepts_signer({"b"})
    assert policy.accepts_signer({"a", "c"})
    assert not policy.accepts_signer({"a"})
    assert not policy.accepts_signer(set())
    assert Policy().accepts_signer(set())


def test_combining_takes_the_stricter_of_each() -> None:
    one = Policy(
        allowed=(("rye.load.*",),), forbidden=("*.x",), maximum_tier=Tier.WRITE, signers=(), minimum_release_age=60
    )
    other = Policy(
        allowed=(("*.acme.*",),), forbidden=("*.y",), maximum_tier=Tier.ELEVATED, signers=(), minimum_release_age=3600
    )
    both = combined([one, other])
    assert both.maximum_tier is Tier.WRITE
    assert both.minimum_release_age == 3600
    assert both.forbidden == ("*.x", "*.y")
    assert rules(both, "rye.load.tool.acme.z") == []
    assert rules(both, "rye.load.tool.other.z") == [("allowed", "rye.load.tool.other.z")]
    assert combined([]) == Policy()
    assert combined([one, one]) == one


def test_a_project_cannot_lower_what_a_person_raised() -> None:
    person = Policy(tables=(rows({"rye.load.knowledge.secret.*": "elevated"}),))
    project = Policy(tables=(rows({"rye.*": "safe"}),))
    assert combined([project, person]).tier("rye.load.knowledge.secret.x") is Tier.ELEVATED
    assert combined([project, person]).tier("rye.execute.*") is Tier.UNRESTRICTED
    assert combined([project]).tier("rye.execute.*") is Tier.SAFE, "alone, one's own table counts"
    assert combined([project, Policy()]).tier("rye.execute.*") is Tier.SAFE, "an empty policy has no table"


def test_a_table_does_not_lower_what_another_policys_maximum_tier_counts() -> None:
    person, project = Policy(maximum_tier=Tier.WRITE), Policy(tables=(rows({"rye.*": "safe"}),))
    for order in ([person, project], [project, person], [combined([project]), person]):
        both = combined(order)
        assert rules(both, "rye.execute.*") == [("maximum-tier", "rye.execute.*")]
        assert combined([both, project]) == combined([both]) == both
    own = Policy(maximum_tier=Tier.WRITE, tables=(rows({"rye.execute.tool.acme.shell.*": "write"}),))
    mine, other = "rye.execute.tool.acme.shell.x", "rye.execute.tool.other.shell.x"
    assert rules(combined([own, project]), mine, other) == [("maximum-tier", other)]
    assert rules(combined([own, person]), mine) == [("maximum-tier", mine)]


@pytest.mark.slow
def test_hundreds_of_rights_that_are_hard_to_judge_are_refused_within_one_bound() -> None:
    hard = [f"rye.*d{'?' * 12}*{number}b" for number in range(300)]
    policy = Policy(maximum_tier=Tier.WRITE, tables=(rows({"rye.load.knowledge.secret.*": "elevated"}),))
    begun = time.thread_time()
    assert len(rules(policy, *hard)) == 300
    assert time.thread_time() - begun < 15
    assert policy.tiers(["rye.load.knowledge.secret.x", "rye.load.tool.x"]) == {
        "rye.load.knowledge.secret.x": Tier.ELEVATED,
        "rye.load.tool.x": Tier.SAFE,
    }


some = st.sampled_from(
    ["rye.*", "rye.load.*", "rye.load.tool.acme.*", "*.acme.*", "rye.execute.tool.[a-m]*", "*shell*", "rye.s?gn.*"]
)
policies = st.builds(
    Policy,
    allowed=st.lists(st.lists(some, max_size=2).map(tuple), max_size=2).map(tuple),
    forbidden=st.lists(some, max_size=2).map(tuple),
    maximum_tier=st.sampled_from(Tier),
    minimum_release_age=st.integers(0, 9),
    tables=st.lists(
        st.dictionaries(some, st.sampled_from([str(t) for t in Tier]), min_size=1, max_size=2).map(rows), max_size=1
    ).map(tuple),
)


@pytest.mark.thorough
@settings(max_examples=EXAMPLES, deadline=None)
@given(policies, policies, st.lists(some, max_size=3))
def test_combining_only_tightens(one: Policy, other: Policy, capabilities: list[str]) -> None:
    both = combined([one, other])
    assert both == combined([both])
    if violations(one, capabilities):
        assert violations(both, capabilities)
    assert both.minimum_release_age >= max(one.minimum_release_age, other.minimum_release_age)
