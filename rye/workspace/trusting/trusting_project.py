"""Accept what a project's lock approves without installing, or revoke that."""

from __future__ import annotations

from rye.consent.ask import Ask
from rye.consent.sorts import approvals
from rye.project.layout import Project
from rye.storage.home import Home
from rye.workspace.context import Context
from rye.workspace.installing.consent import accept_lock
from rye.workspace.installing.install_request import Agree
from rye.workspace.installing.project_state import read_state
from rye.workspace.trusting.acceptance import forget, remember_accepted, unseen
from rye.workspace.trusting.other_rules import texts, unseen_alarms
from rye.workspace.trusting.project_changes import project_changes
from rye.workspace.trusting.verified_items import require_verified


def accept_project(context: Context, project: Project, agree: Agree) -> tuple[Ask, ...]:
    """Ask about approvals in the lock and customizations of installed items that this user has not seen. Return what they
    agreed to.

    Raises RyeError ``project-not-accepted`` if no one can be asked, ``declined``, and errors of rows that cannot be verified.
    """
    state = read_state(context, project)
    manifest, items = state.manifest, state.lock.items
    signed = require_verified(context, project, items)
    changes = project_changes(context.home, project, manifest, items, asks_all=True)
    waiting = (
        *unseen(context.home, project, approvals(items)),
        *unseen_alarms(context.home, project, items, signed),
        *changes.asked,
    )
    if waiting:
        accept_lock(context, agree, waiting)
    remember_accepted(context.home, project, texts(items).union(waiting))
    return waiting


def forget_project(home: Home, project: Project) -> bool:
    """Revoke the acceptance. Return whether the project was accepted."""
    return forget(home, project)
