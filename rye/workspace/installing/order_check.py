"""Whether an installed project is up to date, when the quick check cannot tell
(:mod:`rye.workspace.installing.up_to_date`)."""

from __future__ import annotations

from collections.abc import Sequence

from rye.installation.completeness import problems
from rye.installation.fact_rules import refused_alarms
from rye.installation.plan import make_plan
from rye.installation.policy_files import OtherPolicies
from rye.installation.policy_in_force import policy_in_force
from rye.installation.sources import source_refused, with_signers
from rye.items.agent_tools import widened
from rye.items.signed_release import SignedRelease
from rye.permissions.policy import fact_violations, tool_violations, violations
from rye.project.lock import Lock, LockedItem
from rye.project.manifest import Manifest
from rye.storage.verdicts import Verdicts
from rye.verified.rows import check_words, remembered_rows
from rye.workspace.installing.project_state import ProjectState
from rye.workspace.registries.project_registries import user_basis, user_verdicts, whole_lock_key
from rye.workspace.trusting.verified_items import verified_before


def in_order(
    state: ProjectState, manifest: Manifest, items: Sequence[LockedItem], policies: OtherPolicies, *, known: bool
) -> bool:
    """Whether every row was verified here, the lock is complete, every right is approved and the policy allows it all.

    ``known``: whether the first two are already known. Raises RyeError ``lock-mismatch``.
    """
    return (
        (known or _verified_and_complete(state, manifest, items))
        and _all_approved(state.lock, items)
        and _all_allowed(manifest, items, policies)
    )


def _verified_and_complete(state: ProjectState, manifest: Manifest, items: Sequence[LockedItem]) -> bool:
    verdicts = user_verdicts()
    try:
        if not _rows_hold(verdicts, state.lock, manifest, items):
            return False
        if len(items) == len(state.lock.items):
            key = whole_lock_key(verdicts, state.lock_bytes or b"", state.joined_manifests, state.lock.items)
            verdicts.put({key: b""})
            verdicts.flush()
        return True
    finally:
        verdicts.close()


def _rows_hold(verdicts: Verdicts, lock: Lock, manifest: Manifest, items: Sequence[LockedItem]) -> bool:
    signed = remembered_rows(verdicts, lock.items, user_basis())
    if any(item.identity not in signed for item in items):
        return False
    check_words(lock.items, signed)
    if not all(_runs_are_approved(item, signed[item.identity]) for item in items):
        return False
    return not problems(manifest, lock, signed)


def _runs_are_approved(item: LockedItem, words: SignedRelease) -> bool:
    """Whether the entry has and approves every run, agent tool and alarm of its release. What older locks omit is asked about."""
    return (
        set(words.runs) <= set(item.approved_runs)
        and (words.runs, words.agent_tools, words.agent_limits) == (item.runs, item.agent_tools, item.agent_limits)
        and not widened(item.tools_approved, words.tools)
        and not refused_alarms(item, words.mentions)
    )


def _all_approved(lock: Lock, items: Sequence[LockedItem]) -> bool:
    return not any(change.asks for change in make_plan(lock, items).changes)


def _all_allowed(manifest: Manifest, items: Sequence[LockedItem], policies: OtherPolicies) -> bool:
    """Whether the policy allows the installed items, going by the lock. If not, the installation says why."""
    if not policies.restrict(manifest):
        return True
    policy = policy_in_force(manifest, policies)
    unclear = policy.sources != "path" or policy.signers
    from_sources = unclear and any(item.source is not None for item in items)
    signed = verified_before(items) if policy.facts or from_sources else {}
    items = with_signers(items, signed)
    return not any(
        violations(policy, item.capabilities)
        or tool_violations(policy, item.tools)
        or not policy.accepts_signer([item.signer])
        or source_refused(policy, item)
        or (policy.facts and item.identity not in signed)
        or (policy.facts and fact_violations(policy, ((m.fact, m.value) for m in signed[item.identity].mentions or ())))
        for item in items
    )
