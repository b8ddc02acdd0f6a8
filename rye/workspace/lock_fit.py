"""Whether a project's lock fits its manifest, judged by what the signed releases say."""

from __future__ import annotations

from rye.installation.completeness import Problem, problems
from rye.project.freshness import is_stale
from rye.project.manifest import Manifest
from rye.workspace.context import Context
from rye.workspace.project_state import ProjectState
from rye.workspace.verified_items import require_verified


def lock_problems(context: Context, state: ProjectState, manifest: Manifest) -> list[Problem]:
    """Every problem. What the lock shows by itself is told without a network; else each row must be verified, now or before.

    Raises RyeError ``unverified-item``, ``lock-mismatch``, TrustError.
    """
    found = problems(manifest, state.lock, {})
    if found or is_stale(state.lock, manifest):
        return found
    return problems(manifest, state.lock, require_verified(context, state.project, state.lock.items))
