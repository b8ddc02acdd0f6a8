"""Whether a project's lock matches its manifest, according to the signed releases."""

from __future__ import annotations

from rye.errors import RyeError
from rye.installation.completeness import Problem, problems
from rye.project.freshness import is_stale
from rye.project.manifest import Manifest
from rye.workspace.context import Context
from rye.workspace.installing.project_state import ProjectState
from rye.workspace.trusting.verified_items import require_verified, verified_before


def lock_problems(context: Context, state: ProjectState, manifest: Manifest) -> list[Problem]:
    """The known problems. Each row must be verified, now or before. If that is not possible, or the lock was made for another
    manifest, problems visible in the lock itself are enough.

    Raises RyeError ``unverified-item``, ``lock-mismatch``, TrustError.
    """
    items = state.lock.items
    if is_stale(state.lock, manifest):
        return problems(manifest, state.lock, verified_before(items))
    try:
        signed = require_verified(context, state.project, items)
    except RyeError as error:
        found = problems(manifest, state.lock, {})
        if error.code != "unverified-item" or not found:
            raise
        return found
    return problems(manifest, state.lock, signed)
