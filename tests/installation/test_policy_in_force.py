"""Of the policies of project, user and organization, each only tightens the others.

Anyone who can commit writes the project's.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.installation.environment import policy_in_force, policy_of
from rye.permissions.policy import Policy, violations
from rye.permissions.policy_table import TARGETS, PolicyTable
from rye.permissions.risk import Tier
from rye.project.agent_programs import program_names
from rye.project.manifest import Manifest, parse_manifest
from rye.project.user_config import OtherPolicies, read_other_policies
from rye.runtime.rules import Rules
from rye.storage.home import Home

RUN = "rye.execute.tool.acme.shell.run"
SAFE = '[policy.risk]\n"rye.*" = "safe"\n"rye.execute.*" = "safe"\n'


def table(text: str) -> PolicyTable:
    return parse_manifest(text).policy


def in_force(project: str, *others: str) -> Policy:
    return policy_in_force(parse_manifest(project), OtherPolicies(tuple(table(other) for other in others)))


def test_a_projects_risk_table_calls_nothing_harmless() -> None:
    """It would skip the question before a call, which only this user's consent may do (DESIGN 6.1)."""
    without = in_force("")
    for capability in (RUN, "rye.execute.*", "rye.sign.*", "rye.load.*"):
        assert in_force(SAFE).tier(capability) == without.tier(capability)
    assert Rules(without).answer("execute", RUN) == Rules(in_force(SAFE)).answer("execute", RUN) == "ask"


@pytest.mark.parametrize("others", [(), ('[policy]\nmax-tier = "elevated"\n',), ("[policy]\nallow = []\n", "")])
def test_a_projects_risk_table_raises_tiers(others: tuple[str, ...]) -> None:
    policy = in_force('[policy.risk]\n"rye.load.knowledge.secret.*" = "elevated"\n', *others)
    assert policy.tier("rye.load.knowledge.secret.x") is Tier.ELEVATED
    assert policy.tier("rye.load.knowledge.other.x") is Tier.SAFE


@pytest.mark.parametrize("level", ["safe", "write"])
def test_a_project_does_not_lift_the_maximum_tier_of_the_user_or_the_organization(level: str) -> None:
    own = f'[policy]\nmax-tier = "{level}"\n'
    for others in ((own,), ("", own), (own, '[policy.risk]\n"rye.load.*" = "write"\n')):
        assert violations(in_force("", *others), [RUN])
        assert violations(in_force(SAFE, *others), [RUN])


def test_a_user_does_not_lift_the_maximum_tier_of_the_organization() -> None:
    assert violations(in_force("", SAFE, '[policy]\nmax-tier = "write"\n'), [RUN])


def test_a_users_own_table_lowers_tiers_for_this_user_whatever_the_project_says() -> None:
    own = f'[policy.risk]\n"{RUN}" = "write"\n'
    for project in ("", SAFE):
        policy = in_force(project, own)
        assert policy.tier(RUN) is Tier.WRITE
        assert policy.tier("rye.execute.tool.acme.shell.other") is Tier.ELEVATED
        assert Rules(policy).answer("execute", RUN) == "allow"
        assert Rules(policy).answer("execute", "rye.execute.tool.acme.shell.other") == "ask"
    assert in_force(f'[policy.risk]\n"{RUN}" = "elevated"\n', own).tier(RUN) is Tier.ELEVATED


def test_a_registry_knows_the_programs_that_a_policy_can_forbid() -> None:
    assert program_names() == TARGETS


def test_a_table_becomes_the_policy_that_it_describes() -> None:
    assert policy_of(PolicyTable()) == Policy() == policy_in_force(Manifest(), OtherPolicies())
    text = """
[policy]
allow = ["rye.load.*", "rye.search.*"]
forbid = ["*.shell.*"]
max-tier = "write"
required-signers = ["SHA256:KOejVZy49fm1cFL2SqBN7RSv6z+osGTYOTs+Akqptrs"]
minimum-release-age = "3d"
[policy.facts]
pipe-to-shell = "forbid"
"""
    policy = policy_of(table(text))
    assert policy.allowed == (("rye.load.*", "rye.search.*"),)
    assert policy.forbidden == ("*.shell.*",)
    assert policy.maximum_tier is Tier.WRITE
    assert policy.signers == (frozenset({"SHA256:KOejVZy49fm1cFL2SqBN7RSv6z+osGTYOTs+Akqptrs"}),)
    assert policy.minimum_release_age == 3 * 86_400
    assert policy.facts == {"pipe-to-shell"}
    assert (policy.tables, policy.sources) == ((), "path")
    assert policy_of(table("[policy]\nallow = []\n")).allowed == ((),)
    assert policy_of(table('[policy]\nsources = "signed"\n')).sources == "signed"
    assert in_force('[policy]\nsources = "git"\n', '[policy]\nsources = "path"\n').sources == "git"


@pytest.mark.parametrize("named", ["rules.toml", "./rules.toml", "../{folder}/rules.toml"])
def test_a_policy_that_is_named_and_missing_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    home = Home.from_environment({"HOME": str(tmp_path), "RYE_POLICY": named.format(folder=tmp_path.name)})
    with pytest.raises(RyeError) as caught:
        read_other_policies(home)
    assert caught.value.code == "no-policy"
    (tmp_path / "rules.toml").write_text("[policy]\n")
    assert len(read_other_policies(home).tables) == 1
