"""Which approvals a project's rye.toml may skip, and which it may not (DESIGN 6.1; design: agents 3.1, Approvals)."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.project.manifest import parse_manifest
from rye.project.user_config import read_other_policies
from rye.runtime.limits import Limits
from rye.runtime.opening import rules_in_force
from rye.runtime.rules import Rules
from rye.storage.home import Home
from rye.workspace.context import LibraryContext
from rye.workspace.trusting.acceptance import remember
from rye.workspace.trusting.project_changes import grant_approvals
from tests.scenes.person import Person

SHELL = "rye.execute.tool.acme.shell.*"


def rules(rye: Person, **environment: str) -> Rules:
    from rye.project.layout import Project

    given = {**rye.environment, **environment}
    context = LibraryContext(cwd=rye.folder, home=Home.from_environment(given), environment=given)
    manifest = parse_manifest(rye.path("rye.toml").read_text())
    return rules_in_force(context, Project(rye.folder), manifest, read_other_policies(context.home))


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    made = Person(tmp_path)
    made.write("rye.toml", f'[policy.approval]\n"{SHELL}" = "allow"\n"rye.sign.*" = "deny"\n')
    return made


def test_a_row_that_allows_counts_once_this_user_agreed_to_it(rye: Person) -> None:
    from rye.project.layout import Project

    assert rules(rye).approval == ({"rye.sign.*": "deny"},)
    assert rules(rye, RYE_TRUST_LOCK="1").approval == ({SHELL: "allow", "rye.sign.*": "deny"},)
    remember(rye.folders, Project(rye.folder), grant_approvals(parse_manifest(rye.path("rye.toml").read_text())))
    assert rules(rye).approval == ({SHELL: "allow", "rye.sign.*": "deny"},)
    rye.write("rye.toml", '[policy.approval]\n"rye.execute.*" = "allow"\n')
    assert rules(rye).approval == (), "a later row is another question"


def test_the_users_and_the_organizations_policies_count_as_they_are(rye: Person, tmp_path: Path) -> None:
    config = rye.home / "config" / "policy.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(f'[policy.limits]\ncalls = 5\nspend = 1.5\n[policy.approval]\n"{SHELL}" = "allow"\n')
    organization = tmp_path / "organization.toml"
    organization.write_text("[policy.limits]\ncalls = 9\ntool_seconds = 60\n")
    found = rules(rye, RYE_POLICY=str(organization))
    assert found.limits == Limits(calls=5, spend=Decimal("1.5"), tool_seconds=60)
    assert {SHELL: "allow"} in found.approval


@pytest.mark.parametrize(
    "text",
    [
        "[policy.limits]\ncals = 5\n",
        '[policy.limits]\ncalls = "5"\n',
        "[policy.limits]\ncalls = -1\n",
        "[policy.limits]\ncalls = 1.5\n",
        "[policy.limits]\ncalls = true\n",
        "[policy.limits]\nspend = nan\n",
        "[policy.limits]\nspend = inf\n",
        '[policy.approval]\n"rye.*" = "maybe"\n',
        '[policy.approval]\n"*" = "allow"\n',
        "[policy.approval]\n'rye.*' = true\n",
    ],
)
def test_what_the_policy_cannot_mean_is_an_error(text: str) -> None:
    with pytest.raises(RyeError):
        parse_manifest(text)
