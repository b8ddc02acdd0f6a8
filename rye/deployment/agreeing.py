"""Which approvals in a repository count on this machine (DESIGN 6.1, Agreed here).

* What rye.lock approves of the items counts once this user gave it here or accepted the project: else nothing is deployed, since
  an agent program would act by it at once. An item with a right, a tool or anything else that nobody approved is refused.
* What the project changes about installed items (overrides, overlays, role directives) is asked about or told as ``rye install``
  does it, and the policy's forbidden facts count for the effective text.
* A widening of the state file counts once this user agreed to it in this project.

Both count in a run that trusts what others agreed to (:mod:`rye.workspace.trusting.acceptance`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rye.deployment.state import Allowed, State
from rye.installation.audit import Finding, audit_lock, audit_runs
from rye.installation.fact_rules import by_other_rules
from rye.installation.policy_files import read_other_policies
from rye.installation.policy_in_force import policy_in_force
from rye.installation.signed_release import SignedRelease
from rye.items.identity import Identity
from rye.project.layout import LOCK, Project
from rye.project.lock import LockedItem
from rye.project.manifest import Manifest
from rye.workspace.context import Context
from rye.workspace.trusting.acceptance import (
    Approval,
    approvals,
    not_accepted,
    remember,
    trusts_lock,
    unseen,
)
from rye.workspace.trusting.other_rules import unseen_alarms
from rye.workspace.trusting.project_changes import project_changes, require_allowed, shown_lines
from rye.workspace.trusting.verified_items import require_verified


def require_accepted(context: Context, project: Project, manifest: Manifest, rows: Sequence[LockedItem]) -> None:
    """That this user knows what rye.lock approves of these items, and what the project changes about them.

    Raises RyeError ``project-not-accepted``, and ``policy-violation`` for a customization that brings what the policy forbids.
    """
    require_allowed(policy_in_force(manifest, read_other_policies()), project, manifest, rows)
    changes = project_changes(project, manifest, rows)
    if trusts_lock(context):
        for line in shown_lines(changes.asked):
            context.tell(line)
        return
    others = [row for row in rows if by_other_rules(row)]
    late = unseen_alarms(project, others, require_verified(context, project, others)) if others else ()
    waiting = (*unseen(project, approvals(rows)), *late, *changes.asked)
    if waiting:
        raise not_accepted(waiting)
    notice = changes.notice()
    if notice is not None:
        context.warn(*notice)


def unapproved_items(
    rows: Sequence[LockedItem], signed: Mapping[Identity, SignedRelease], manifest: Manifest
) -> dict[Identity, Finding]:
    """Of these items the ones that ``rye install`` would ask about or refuse, each with the first reason. ``signed``: what their
    releases say."""
    policy = policy_in_force(manifest, read_other_policies())
    found: dict[Identity, Finding] = {}
    for finding in (*_pending(rows), *audit_lock(rows, policy), *audit_runs(rows, signed, policy)):
        if finding.item is not None and finding.severity == "error":
            found.setdefault(finding.item.identity, finding)
    return found


def _pending(rows: Sequence[LockedItem]) -> Iterator[Finding]:
    """Releases that ``rye lock`` chose and nobody installed: its signer waits to be agreed to."""
    for row in rows:
        if row.approved_signer is not None:
            message = f"{row.identity} {row.version} was locked, and nobody agreed to it yet."
            yield Finding("unapproved-right", "error", message, LOCK, row, "`rye install` asks for it.")


def counted(context: Context, project: Project, state: State) -> list[Allowed]:
    """What the state file allows and this user agreed to."""
    if trusts_lock(context):
        return list(state.allowed)
    waiting = set(unseen(project, map(_approval, state.allowed)))
    return [one for one in state.allowed if _approval(one) not in waiting]


def agree(project: Project, given: Sequence[Allowed]) -> None:
    """This user agreed to these now."""
    if given:
        remember(project, map(_approval, given))


def _approval(one: Allowed) -> Approval:
    return Approval(one.item, "deploy", f"{one.target} {one.field} {one.sha256}")
