"""Whether an installation has anything to do, found out without a network.

There is nothing to do when the lock fits the manifest, every byte on disk is the lock's, the lock says of each item what its
bytes say, every right is approved, the policy in force allows it all, and each namespace still has the registry of its items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rye.installation.lock_declarations import installed_declarations_hold
from rye.installation.on_disk import drift
from rye.installation.policy_files import any_policy, policy_in_force
from rye.project.freshness import in_groups, is_stale
from rye.workspace.project_registries import same_registries, user_verdicts

if TYPE_CHECKING:
    from rye.project.layout import Project
    from rye.project.lock import Lock, LockedItem
    from rye.project.manifest import Manifest
    from rye.workspace.context import Context
    from rye.workspace.project_state import ProjectState


def nothing_to_do(
    context: Context,
    state: ProjectState,
    manifest: Manifest,
    without: frozenset[str],
    present: Mapping[str, str | None],
) -> bool:
    """Whether the project is in order. ``present``: as :func:`rye.installation.on_disk.scan` found the files.

    Raises RyeError ``lock-mismatch`` where the lock says something else of an item than its bytes do.
    """
    if is_stale(state.lock, manifest):
        return False
    items = in_groups(state.lock.items, without)
    if drift(items, present) or any(item.approved_signer is not None for item in items):
        return False
    return (
        same_registries(context, manifest, state.lock, state.project.root)
        and _declarations_hold(state.project, items)
        and _all_approved(state.lock, items)
        and _all_allowed(manifest, items)
    )


def _declarations_hold(project: Project, items: Sequence[LockedItem]) -> bool:
    verdicts = user_verdicts()
    try:
        held = installed_declarations_hold(project, items, verdicts)
        verdicts.flush()
        return held
    finally:
        verdicts.close()


def _all_approved(lock: Lock, items: Sequence[LockedItem]) -> bool:
    if all(set(item.capabilities) <= set(item.approved_capabilities) for item in items):
        return True
    from rye.installation.plan import make_plan

    return not any(change.asks for change in make_plan(lock, items).changes)


def _all_allowed(manifest: Manifest, items: Sequence[LockedItem]) -> bool:
    """Whether the policy allows what is installed, as far as the lock tells; where not, the installation says why."""
    if not any_policy(manifest):
        return True
    from rye.permissions.policy import violations

    policy = policy_in_force(manifest)
    return not any(violations(policy, item.capabilities) or not policy.accepts_signer([item.signer]) for item in items)
