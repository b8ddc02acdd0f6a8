"""Accepting what a project's lock approves, without installing; and taking that back."""

from __future__ import annotations

from rye.project.layout import Project
from rye.workspace.context import Context
from rye.workspace.installing.consent import accept_lock
from rye.workspace.installing.install_request import Agree
from rye.workspace.installing.project_state import read_state
from rye.workspace.trusting.acceptance import Approval, approvals, forget, remember, unseen
from rye.workspace.trusting.verified_items import require_verified


def accept_project(context: Context, project: Project, agree: Agree) -> tuple[Approval, ...]:
    """Ask a person about everything that the lock approves and this user has not seen; what they agreed to.

    Raises RyeError ``project-not-accepted`` where nobody can be asked, ``declined``, and where a row cannot be verified.
    """
    items = read_state(context, project).lock.items
    require_verified(context, project, items)
    waiting = unseen(project, approvals(items))
    if waiting:
        accept_lock(context, agree, waiting)
        remember(project, waiting)
    return waiting


def forget_project(project: Project) -> bool:
    """Take the acceptance back; whether there was any."""
    return forget(project)
