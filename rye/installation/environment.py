"""What releases are checked against besides the registry: the features that a project provides, the time, and the policies
of :mod:`rye.project.user_config`, combined into one.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.permissions.policy import (
    BUILT_IN,
    Policy,
    combined,
    fact_violations,
    source_refusal,
    tool_violations,
    violations,
)
from rye.permissions.policy_table import PolicyTable
from rye.permissions.risk import Tier, rows
from rye.project.manifest import Manifest
from rye.project.user_config import OtherPolicies
from rye.resolution.problem import Exclusion
from rye.sources.record import SourceRecord

if TYPE_CHECKING:
    from rye.installation.sources import Record
    from rye.items.signed_release import Mention, SignedRelease
    from rye.project.lock import LockedItem


class Environment(Struct, frozen=True):
    """What a release is checked against besides the registry."""

    provides: frozenset[str]
    policy: Policy
    now: datetime

    def require(self, items: Iterable[tuple[LockedItem, Iterable[Mention]]]) -> None:
        """Require that all items, and what they mention, comply with the policy; consent cannot replace that. Raises RyeError
        ``policy-violation``."""
        found = [
            (item, violation)
            for item, mentioned in items
            for violation in (
                *violations(self.policy, item.capabilities),
                *tool_violations(self.policy, item.tools),
                *fact_violations(self.policy, ((mention.fact, mention.value) for mention in mentioned)),
            )
        ]
        if found:
            listed = "\n".join(f"  {item.identity}@{item.version}: {v.message}" for item, v in found)
            raise RyeError(
                "policy-violation",
                f"The policy forbids what these items ask for or mention:\n{listed}",
                "Choose another item or version, or ask the maintainer of the policy to change it.",
                details={
                    "violations": [
                        {
                            "item": str(item.identity),
                            "version": item.version,
                            "rule": v.rule,
                            "capability": v.capability,
                        }
                        for item, v in found
                    ]
                },
            )

    def exclusions(self, record: Record) -> dict[Exclusion, str]:
        """Return the reasons why this release must not be chosen."""
        if isinstance(record, SourceRecord):
            return self._source_exclusions(record)
        policy, found = self.policy, {}
        place = policy.place_refusal(record.identity.namespace, record.origin, is_source=False)
        if place is not None:
            found[Exclusion.SOURCE] = place
        if record.revoked:
            found[Exclusion.REVOKED] = "every key that signed it was revoked"
        elif not policy.accepts_signer(signers := record.counted):
            found[Exclusion.OTHER_SIGNER] = f"required-signers does not list {' or '.join(signers)}"
        elif few := policy.signers_refusal(len(set(signers))):
            found[Exclusion.OTHER_SIGNER] = few
        if record.takedown is not None:
            found[Exclusion.TAKEN_DOWN] = record.takedown.reason
        if record.held:
            found[Exclusion.HELD] = record.held
        if record.yank is not None:
            found[Exclusion.YANKED] = record.yank.reason
        age = self.now - record.release.time
        if policy.minimum_release_age and age < timedelta(seconds=policy.minimum_release_age):
            found[Exclusion.TOO_NEW] = f"released {record.release.time:%Y-%m-%d %H:%M} UTC"
        return found

    def _source_exclusions(self, record: SourceRecord) -> dict[Exclusion, str]:
        """Return the same for an item of a source. A commit can claim any time, so its age is not checked."""
        why = source_refusal(
            self.policy.sources, is_git=record.source.git is not None, signed=record.signer is not None
        )
        why = why or self.policy.place_refusal(record.identity.namespace, record.source.origin, is_source=True)
        found = {} if why is None else {Exclusion.SOURCE: why}
        if not self.policy.accepts_signer([record.signer] if record.signer is not None else []):
            found[Exclusion.OTHER_SIGNER] = f"required-signers does not list {record.signer or record.source.unsigned}"
        elif few := self.policy.signers_refusal(int(record.signer is not None)):
            found[Exclusion.OTHER_SIGNER] = few
        return found


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
        namespaces=(frozenset(table.namespaces),) if table.namespaces is not None else (),
        forbidden_targets=frozenset(table.forbidden_targets),
        reviewers=table.required_reviewers,
    )


def installed_refusal(policy: Policy, item: LockedItem, signed: SignedRelease, now: datetime) -> str | None:
    """Return why the policy refuses an installed item; None if it does not. ``item``: with its signer
    (:func:`rye.installation.sources.with_signers`)."""
    if item.source is None:
        origin, count = item.registry, len(set(signed.signers))
        accepted = policy.accepts_signer(signed.signers or (item.signer,))
        refused = None
    else:
        origin, count = item.source.origin, int(not item.is_unsigned)
        accepted = policy.accepts_signer([item.signer])
        refused = source_refusal(policy.sources, is_git=item.source.git is not None, signed=not item.is_unsigned)
    refused = refused or policy.place_refusal(item.identity.namespace, origin, is_source=item.source is not None)
    if refused is not None:
        return refused
    if not accepted:
        return "it is not signed by a key that the policy requires"
    young = timedelta(seconds=policy.minimum_release_age)
    if item.source is None and young and (signed.time is None or now - signed.time < young):
        return "it is younger than the policy's minimum-release-age"
    if few := policy.signers_refusal(count):
        return few
    if signed.mentions is None and policy.facts:
        return "nobody looked for what the policy forbids to mention"
    found = (
        *violations(policy, item.capabilities),
        *tool_violations(policy, item.tools),
        *fact_violations(policy, ((one.fact, one.value) for one in signed.mentions or ())),
    )
    return found[0].message if found else None


def policy_in_force(manifest: Manifest, others: OtherPolicies) -> Policy:
    """Return the project's, the user's and the organization's policies, combined.

    Anyone who can commit can write the project's ``[policy.risk]``, and an organization that was joined only tightens, so both
    only raise tiers: only a table of the user or the machine replaces the built-in one.
    """
    own = [policy_of(table) for table in others.own]
    tightening = [policy_of(manifest.policy), *(policy_of(one.table) for one in others.organizations)]
    if any(policy.tables for policy in tightening) and not any(policy.tables for policy in own):
        own.append(Policy(tables=BUILT_IN))
    return combined([*tightening, *own])


def organizations_policy(others: OtherPolicies) -> Policy | None:
    """Return what the organizations that were joined allow together; None if there are none."""
    return combined(policy_of(one.table) for one in others.organizations) if others.organizations else None
