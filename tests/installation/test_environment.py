"""What a policy refuses: a release before it is chosen, and an item that is installed already, by the same rules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.installation.environment import Environment, installed_refusal, organizations_policy, policy_of
from rye.items.reading import Metadata
from rye.items.signed_release import Mention, SignedRelease
from rye.permissions.policy import Policy
from rye.permissions.policy_table import PolicyTable
from rye.permissions.risk import Tier
from rye.project.lock import LockedItem, LockedSource
from rye.project.organizations import PolicyInForce
from rye.project.user_config import OtherPolicies
from rye.registry.trust.records import ReleaseRecord
from rye.resolution.problem import Exclusion
from rye.sources.record import SourceRecord
from tests.registry.simulated_registry import SimulatedRegistry
from tests.registry.test_records import NEW, OLD, TOOL, history_of

RUN = "rye.execute.tool.acme.shell.run"
PIPE = Mention("pipe-to-shell", "curl x | sh", "alarm", "read.py", 3)
DAY = 86_400
STRANGER = "SHA256:stranger"
ORIGIN = "registry.example"
GIT = LockedSource(place="read.py", git="https://git.example/kit.git", commit="1" * 40)
FOLDER = LockedSource(place="read.py", path="../kit")


def record(**changes: Any) -> ReleaseRecord:
    """A release by two keys."""
    registry = SimulatedRegistry()
    registry.claim("acme", [OLD, NEW])
    registry.release(TOOL, keys=[OLD, NEW])
    (found,) = history_of(registry).records
    return replace(found, **changes)


RECORD = record()
KEY = RECORD.counted[0]
RELEASED = RECORD.release.time
ROW = LockedItem(
    kind=TOOL.kind,
    id=TOOL.id,
    version="1.0.0",
    size=3,
    sha256="ab" * 32,
    suffix=".py",
    registry=ORIGIN,
    log=1,
    keyset=1,
    signer=KEY,
)
SIGNED = SignedRelease(signers=RECORD.counted, time=RELEASED, mentions=())


def source_record(source: LockedSource, signer: str | None) -> SourceRecord:
    """The same item in a source."""
    return SourceRecord(
        release=RECORD.release,
        source=source,
        metadata=Metadata(name=TOOL.id, version="1.0.0", description="Reads."),
        data=b"",
        attached={},
        runs=(),
        signer=signer,
    )


def from_source(source: LockedSource, signer: str | None) -> LockedItem:
    """Its row in rye.lock."""
    return replace(ROW, registry=source.origin, source=source, signer=signer or source.origin)


def environment(policy: Policy, now: datetime = RELEASED) -> Environment:
    """A project without features."""
    return Environment(frozenset(), policy, now)


def refused(policy: Policy, row: LockedItem, *, now: datetime = RELEASED, **changes: Any) -> str | None:
    """Why an installed item must not be used."""
    return installed_refusal(policy, row, replace(SIGNED, **changes), now)


# Chosen, and installed: the same rules

PLACES = [
    (Policy(), True),
    (Policy(namespaces=(frozenset({"acme"}),)), True),
    (Policy(namespaces=(frozenset({f"acme@{ORIGIN}"}), frozenset({f"*@{ORIGIN}"}))), True),
    (Policy(namespaces=(frozenset({"acme"}), frozenset({"moon"}))), False),
    (Policy(namespaces=(frozenset({"acme@other.example"}),)), False),
    (Policy(namespaces=(frozenset(),)), False),
    (Policy(signers=(frozenset({KEY, STRANGER}),)), True),
    (Policy(signers=(frozenset({KEY}), frozenset({STRANGER}))), False),
    (Policy(reviewers=2), True),
    (Policy(reviewers=3), False),
    (Policy(minimum_release_age=DAY), False),
    (Policy(sources="none"), True),
]


@pytest.mark.parametrize(("policy", "allowed"), PLACES)
def test_a_release_that_may_not_be_chosen_may_not_be_used_either(policy: Policy, allowed: bool) -> None:
    assert (environment(policy).exclusions(RECORD) == {}) is allowed
    assert (refused(policy, ROW) is None) is allowed


@pytest.mark.parametrize("source", [GIT, FOLDER])
@pytest.mark.parametrize("signer", [None, KEY])
@pytest.mark.parametrize(
    ("policy", "allows"),
    [
        (Policy(), {"git", "folder", "signed"}),
        (Policy(sources="git"), {"git", "signed"}),
        (Policy(sources="signed"), {"signed"}),
        (Policy(sources="none"), set[str]()),
        (Policy(namespaces=(frozenset({"acme"}),)), set[str]()),
        (Policy(namespaces=(frozenset({f"acme@{GIT.origin}"}),)), {"git"}),
        (Policy(namespaces=(frozenset({f"*@{FOLDER.origin}"}),)), {"folder"}),
        (Policy(signers=(frozenset({KEY}),)), {"signed"}),
        (Policy(signers=(frozenset({STRANGER}),)), set[str]()),
        (Policy(reviewers=1), {"signed"}),
        (Policy(reviewers=2), set[str]()),
        (Policy(minimum_release_age=DAY), {"git", "folder", "signed"}),
    ],
)
def test_an_item_of_a_source_that_may_not_be_chosen_may_not_be_used_either(
    source: LockedSource, signer: str | None, policy: Policy, allows: set[str]
) -> None:
    allowed = ("git" if source is GIT else "folder") in allows or (signer is not None and "signed" in allows)
    if policy.namespaces:  # who signed it does not change where it is from
        allowed = ("git" if source is GIT else "folder") in allows
    assert (environment(policy).exclusions(source_record(source, signer)) == {}) is allowed
    assert (refused(policy, from_source(source, signer), signers=(), time=None) is None) is allowed


# Why a release must not be chosen


def test_each_reason_is_given_with_what_somebody_can_do_about_it() -> None:
    registry = SimulatedRegistry()
    registry.claim("acme", [OLD, NEW])
    registry.release(TOOL, keys=[OLD, NEW])
    registry.yank(TOOL, "1.0.0")
    registry.take_down(TOOL, "1.0.0", [RECORD.release.file.sha256])
    (both,) = history_of(registry).records
    assert both.yank is not None
    assert both.takedown is not None
    policy = Policy(namespaces=(frozenset({"moon"}),), signers=(frozenset({STRANGER}),), minimum_release_age=DAY)
    found = environment(policy, RELEASED + timedelta(hours=1)).exclusions(replace(both, held="until Monday"))
    assert found == {
        Exclusion.SOURCE: f"the policy's namespaces do not list acme@{ORIGIN}",
        Exclusion.OTHER_SIGNER: f"required-signers does not list {' or '.join(RECORD.counted)}",
        Exclusion.TAKEN_DOWN: both.takedown.reason,
        Exclusion.HELD: "until Monday",
        Exclusion.YANKED: both.yank.reason,
        Exclusion.TOO_NEW: f"released {both.release.time:%Y-%m-%d %H:%M} UTC",
    }


def test_revoked_keys_are_the_reason_whoever_else_the_policy_wants() -> None:
    found = environment(Policy(signers=(frozenset({STRANGER}),), reviewers=9)).exclusions(record(revoked=True))
    assert found == {Exclusion.REVOKED: "every key that signed it was revoked"}


def test_one_key_twice_is_one_reviewer() -> None:
    twice = record(signers=(RECORD.signers[0], RECORD.signers[0]))
    why = environment(Policy(reviewers=2)).exclusions(twice)[Exclusion.OTHER_SIGNER]
    assert why == "1 key signed it, and the policy has required-reviewers = 2"
    assert refused(Policy(reviewers=2), ROW, signers=(KEY, KEY)) == why


@pytest.mark.parametrize(("age", "allowed"), [(DAY - 1, False), (DAY, True), (-5, False)])
def test_a_release_is_old_enough_to_the_second(age: int, allowed: bool) -> None:
    policy, now = Policy(minimum_release_age=DAY), RELEASED + timedelta(seconds=age)
    assert (Exclusion.TOO_NEW not in environment(policy, now).exclusions(RECORD)) is allowed
    assert (refused(policy, ROW, now=now) is None) is allowed


def test_a_release_of_the_future_is_fine_where_no_age_is_asked_for() -> None:
    before = RELEASED - timedelta(hours=1)
    assert environment(Policy(), before).exclusions(RECORD) == {}
    assert refused(Policy(), ROW, now=before) is None


# What an installed item is refused for besides


def test_an_installed_item_whose_time_or_texts_nobody_knows_is_refused_by_a_policy_about_them() -> None:
    late = RELEASED + timedelta(days=400)
    assert refused(Policy(minimum_release_age=DAY), ROW, now=late, time=None) is not None
    forbids = Policy(facts=frozenset({"pipe-to-shell"}))
    assert refused(forbids, ROW, mentions=None) is not None
    assert refused(forbids, ROW, mentions=()) is None
    assert refused(Policy(), ROW, mentions=None, time=None) is None


def test_rights_tools_and_mentions_are_refused_as_they_are_when_something_is_installed() -> None:
    for policy, item, mentions in (
        (Policy(maximum_tier=Tier.SAFE), replace(ROW, capabilities=(RUN,)), ()),
        (Policy(maximum_tier=Tier.SAFE), replace(ROW, agent_tools=("Bash",)), ()),
        (Policy(facts=frozenset({"pipe-to-shell"})), ROW, (PIPE,)),
    ):
        with pytest.raises(RyeError) as raised:
            environment(policy).require([(ROW, ()), (item, mentions)])
        assert raised.value.code == "policy-violation"
        said = refused(policy, item, mentions=mentions)
        assert said is not None
        assert raised.value.message.endswith(f"\n  {ROW.identity}@1.0.0: {said}")
        violations: Any = raised.value.details["violations"]
        assert [set(violation) for violation in violations] == [{"item", "version", "rule", "capability"}]
        assert (violations[0]["item"], violations[0]["version"]) == (str(ROW.identity), "1.0.0")
        environment(Policy()).require([(item, mentions)])


def test_a_release_that_names_no_signers_counts_for_the_one_of_its_row() -> None:
    """As one that was remembered before releases named theirs."""
    policy = Policy(signers=(frozenset({KEY}),))
    assert refused(policy, ROW, signers=()) is None
    assert refused(policy, replace(ROW, signer=STRANGER), signers=()) is not None
    assert refused(policy, replace(ROW, signer=STRANGER), signers=(KEY,)) is None
    assert refused(policy, ROW, signers=(STRANGER,)) == "it is not signed by a key that the policy requires"


def test_organizations_that_were_joined_are_combined_without_the_users_own_table() -> None:
    assert organizations_policy(OtherPolicies((PolicyTable(max_tier="safe"),))) is None
    joined = tuple(
        PolicyInForce(
            address=f"https://{name}.example",
            origin=f"{name}.example",
            is_managed=False,
            number=1,
            sha256="ab" * 32,
            expires=datetime(2030, 1, 1, tzinfo=UTC),
            contact=None,
            table=table,
        )
        for name, table in (("a", PolicyTable(required_reviewers=2)), ("b", PolicyTable(max_tier="write")))
    )
    others = OtherPolicies((PolicyTable(max_tier="safe"), *(one.table for one in joined)), joined)
    assert organizations_policy(others) == Policy(reviewers=2, maximum_tier=Tier.WRITE)
    assert policy_of(PolicyTable(max_tier="safe")).maximum_tier is Tier.SAFE
