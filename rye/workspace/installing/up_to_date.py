"""Whether an installation has nothing to do, decided without a network.

There is nothing to do if every byte and executable bit on disk matches the lock, every row was verified here, the lock is
complete (:mod:`rye.installation.completeness`), every right is approved, the policy in force allows everything, and each
namespace still has its items' registry.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rye.installation.policy_files import OtherPolicies
from rye.project.freshness import in_groups, is_stale
from rye.verified.on_disk import Present, drift
from rye.workspace.registries.project_registries import same_registries, user_verdicts, whole_lock_key

if TYPE_CHECKING:
    from rye.project.manifest import Manifest
    from rye.workspace.context import Context
    from rye.workspace.installing.project_state import ProjectState


def up_to_date(
    context: Context,
    state: ProjectState,
    manifest: Manifest,
    without: frozenset[str],
    present: Mapping[str, Present],
    policies: OtherPolicies,
) -> bool:
    """Whether the project is up to date. ``present``: the result of :func:`rye.verified.on_disk.scan`. ``policies``: those
    besides the project's.

    Raises RyeError ``lock-mismatch`` if the lock contradicts an item's release.
    """
    if state.conflicted or is_stale(state.lock, manifest):
        return False
    items = in_groups(state.lock.items, without)
    if drift(items, present) or any(item.approved_signer is not None for item in items):
        return False
    if not same_registries(context, manifest, state.lock, state.project.root):
        return False
    if any(item.source is not None and item.source.path is not None for item in items) and not _folders_hold(
        context, state, manifest
    ):
        return False
    known = not (state.lock.items or manifest.dependencies) or _known_whole(state)
    plainly_approved = all(set(item.capabilities) <= set(item.approved_capabilities) for item in items)
    if known and plainly_approved and not policies.restrict(manifest):
        return True
    from rye.workspace.installing.order_check import in_order  # not needed for a lock already known to be complete

    return in_order(state, manifest, items, policies, known=known)


def _folders_hold(context: Context, state: ProjectState, manifest: Manifest) -> bool:
    """Whether the folders of ``[sources]`` still match the lock; they can change at any time."""
    found: bool = importlib.import_module("rye.workspace.registries.project_sources").folders_hold(
        context, manifest, state.project.root, state.lock.items
    )
    return found


def _known_whole(state: ProjectState) -> bool:
    """Whether this lock is already known to be verified and complete: one lookup."""
    verdicts = user_verdicts()
    try:
        key = whole_lock_key(verdicts, state.lock_bytes or b"", state.joined_manifests, state.lock.items)
        return key in verdicts.get([key])
    finally:
        verdicts.close()
