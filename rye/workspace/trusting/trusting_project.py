"""Accept what a project's lock approves without installing, or revoke that."""

from __future__ import annotations

from rye.consent.agreement import byte_approvals
from rye.consent.ask import Ask
from rye.installation.sources import with_signers
from rye.project.layout import Project
from rye.project.manifest import Manifest
from rye.storage.home import Home
from rye.workspace.authoring.origins import not_agreed_origins
from rye.workspace.context import Context
from rye.workspace.installing.install_request import Agree
from rye.workspace.installing.project_state import read_state
from rye.workspace.trusting.acceptance import forget, remembered, require_remembered
from rye.workspace.trusting.asking import require_yes
from rye.workspace.trusting.own_attached import not_agreed_files
from rye.workspace.trusting.project_changes import agreed_changes, project_changes
from rye.workspace.trusting.project_keys import not_agreed_keys
from rye.workspace.trusting.verified_items import require_verified


def accept_project(context: Context, project: Project, agree: Agree) -> tuple[Ask, ...]:
    """Ask about approvals in the lock, customizations, files attached to own items and origins of forks that this user has not
    agreed to. Return what they agreed to.

    Raises RyeError ``project-not-accepted`` if no one can be asked, ``declined``, and errors of rows that cannot be verified.
    """
    state = read_state(context, project)
    manifest, items = state.manifest, state.lock.items
    signed = require_verified(context, project, items)
    changes = project_changes(context.home, project, manifest, items, asks_grants=True)
    agreement = remembered(context.home, project)
    own = own_waiting(context.home, project, manifest)
    moved = tuple(one.needs for one in agreement.moved(with_signers(items, signed)) if one.is_unseen)
    waiting = (*agreement.new_in(items), *agreement.late_in(items, signed), *moved, *changes, *own)
    require_yes(context, waiting, agree, is_shown=True, project=project, rows=items)
    shown = [row for row in items if not row.approved.is_pending]  # `rye install` asks about the bytes of the others
    known = agreed_changes(context.home, project, manifest, items)
    require_remembered(context.home, project, byte_approvals(shown).union(waiting, known), accepts=True)
    return waiting


def own_waiting(home: Home, project: Project, manifest: Manifest) -> tuple[Ask, ...]:
    """What this user has not agreed to about the project's own items: keys, attached files and origins of forks."""
    return (
        *not_agreed_keys(home, project, manifest),
        *not_agreed_files(home, project, manifest),
        *not_agreed_origins(home, project),
    )


def forget_project(home: Home, project: Project) -> bool:
    """Revoke the acceptance. Return whether the project was accepted."""
    return forget(home, project)
