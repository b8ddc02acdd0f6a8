"""Whether a project's lock fits its manifest, judged by what the signed releases say."""

from __future__ import annotations

from rye.errors import RyeError
from rye.installation.completeness import Problem, problems
from rye.project.freshness import is_stale
from rye.project.manifest import Manifest
from rye.workspace.context import Context
from rye.workspace.installing.project_state import ProjectState
from rye.workspace.trusting.verified_items import require_verified, verified_before


def lock_problems(context: Context, state: ProjectState, manifest: Manifest) -> list[Problem]:
    """Every problem, as far as it is known: each row must be verified, now or before. Where that is not possible, or the lock
    was made for another manifest, what the lock shows by itself is enough to say that it does not fit.

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
