"""Whether an installation has anything to do, found out without a network.

There is nothing to do when every byte and executable bit on disk is the lock's, every row of the lock was verified here, the lock
is complete (:mod:`rye.installation.completeness`), every right is approved, the policy in force allows it all, and each namespace
still has the registry of its items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rye.installation.on_disk import Present, drift
from rye.installation.policy_files import any_policy, policy_in_force
from rye.project.freshness import in_groups, is_stale
from rye.workspace.project_registries import same_registries, user_pins, user_verdicts, whole_lock_key

if TYPE_CHECKING:
    from rye.installation.signed_release import SignedRelease
    from rye.project.lock import Lock, LockedItem
    from rye.project.manifest import Manifest
    from rye.storage.verdicts import Verdicts
    from rye.workspace.context import Context
    from rye.workspace.project_state import ProjectState


def nothing_to_do(
    context: Context,
    state: ProjectState,
    manifest: Manifest,
    without: frozenset[str],
    present: Mapping[str, Present],
) -> bool:
    """Whether the project is in order. ``present``: as :func:`rye.installation.on_disk.scan` found the files.

    Raises RyeError ``lock-mismatch`` where the lock says something else of an item than its release does.
    """
    if is_stale(state.lock, manifest):
        return False
    items = in_groups(state.lock.items, without)
    if drift(items, present) or any(item.approved_signer is not None for item in items):
        return False
    return (
        same_registries(context, manifest, state.lock, state.project.root)
        and _verified_and_complete(state, manifest, items)
        and _all_approved(state.lock, items)
        and _all_allowed(manifest, items)
    )


def _verified_and_complete(state: ProjectState, manifest: Manifest, items: Sequence[LockedItem]) -> bool:
    verdicts = user_verdicts()
    try:
        key = whole_lock_key(verdicts, state.lock_bytes or b"", state.manifest_text, state.lock.items)
        if key in verdicts.get([key]):
            return True
        if not _rows_hold(verdicts, state.lock, manifest, items):
            return False
        if len(items) == len(state.lock.items):
            verdicts.put({key: b""})
            verdicts.flush()
        return True
    finally:
        verdicts.close()


def _rows_hold(verdicts: Verdicts, lock: Lock, manifest: Manifest, items: Sequence[LockedItem]) -> bool:
    from rye.installation.completeness import problems
    from rye.installation.verified_rows import check_words, remembered_rows

    signed = remembered_rows(verdicts, lock.items, user_pins())
    if any(item.identity not in signed for item in items):
        return False
    check_words(lock.items, signed)
    if not all(_runs_are_approved(item, signed[item.identity]) for item in items):
        return False
    return not problems(manifest, lock, signed)


def _runs_are_approved(item: LockedItem, words: SignedRelease) -> bool:
    """Whether the entry has and approves every run, agent tool and alarm of its release. What older locks leave out is asked."""
    from rye.items.agent_tools import widened

    return (
        set(words.runs) <= set(item.approved_runs)
        and (words.runs, words.agent_tools, words.agent_limits) == (item.runs, item.agent_tools, item.agent_limits)
        and not widened(item.tools_approved, words.tools)
        and all(mention.word in item.approved_facts for mention in words.mentions or () if mention.is_alarm)
    )


def _all_approved(lock: Lock, items: Sequence[LockedItem]) -> bool:
    if all(set(item.capabilities) <= set(item.approved_capabilities) for item in items):
        return True
    from rye.installation.plan import make_plan

    return not any(change.asks for change in make_plan(lock, items).changes)


def _all_allowed(manifest: Manifest, items: Sequence[LockedItem]) -> bool:
    """Whether the policy allows what is installed, as far as the lock tells; where not, the installation says why."""
    if not any_policy(manifest):
        return True
    from rye.permissions.policy import fact_violations, tool_violations, violations
    from rye.workspace.verified_items import verified_before

    policy = policy_in_force(manifest)
    signed = verified_before(items) if policy.facts else {}
    return not any(
        violations(policy, item.capabilities)
        or tool_violations(policy, item.tools)
        or not policy.accepts_signer([item.signer])
        or (policy.facts and item.identity not in signed)
        or (policy.facts and fact_violations(policy, ((m.fact, m.value) for m in signed[item.identity].mentions or ())))
        for item in items
    )
