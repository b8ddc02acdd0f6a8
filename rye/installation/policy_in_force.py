"""The policies of :mod:`rye.installation.policy_files`, combined into one."""

from __future__ import annotations

from rye.installation.policy_files import OtherPolicies
from rye.permissions.policy import BUILT_IN, Policy, combined
from rye.permissions.risk import Tier, rows
from rye.project.manifest import Manifest, PolicyTable


def policy_of(table: PolicyTable) -> Policy:
    """Return the policy that a ``[policy]`` table describes."""
    return Policy(
        allowed=(table.allow,) if table.allow is not None else (),
        forbidden=table.forbid,
        maximum_tier=Tier.named(table.max_tier) if table.max_tier else Tier.UNRESTRICTED,
        signers=(frozenset(table.required_signers),) if table.required_signers else (),
        minimum_release_age=int(table.minimum_release_age.total_seconds()) if table.minimum_release_age else 0,
        facts=frozenset(table.forbidden_facts),
        tables=(rows(table.risk),) if table.risk else (),
        sources=table.sources or "path",
    )


def policy_in_force(manifest: Manifest, others: OtherPolicies) -> Policy:
    """Return the project's, the user's and the organization's policies, combined.

    Anyone who can commit can write the project's ``[policy.risk]``, so it only raises tiers: only a table of the user or the
    organization replaces the built-in one.
    """
    project, trusted = policy_of(manifest.policy), [policy_of(table) for table in others.tables]
    if project.tables and not any(policy.tables for policy in trusted):
        trusted.append(Policy(tables=BUILT_IN))
    return combined([project, *trusted])
