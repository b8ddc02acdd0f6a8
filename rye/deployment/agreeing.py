"""Which approvals in a repository are valid on this machine (DESIGN 6.1, Agreed here).

* Approvals in rye.lock are valid once this user gave them here or accepted the project. Otherwise nothing is deployed, because
  an agent program would use it at once. An item with a right, a tool or anything else that no one approved is refused.
* The project's changes to these items (overrides, overlays, role directives) are valid once this user agreed to them, as in
  ``rye install``, and the policy's forbidden facts apply to the effective text. One without agreement leaves its own item out
  of a deploy, and the others go on.
* A widening in the state file is valid once this user agreed to it in this project. No question asks for it: like ``--approve``,
  ``--allow-widening`` names the item.

All are valid in a run that trusts others' approvals (:mod:`rye.workspace.trusting.acceptance`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from rye.consent.agreement import by_other_rules
from rye.consent.ask import Ask
from rye.deployment.state import Allowed, State
from rye.installation.audit.finding import Finding
from rye.installation.audit.lock import audit_lock, audit_runs
from rye.installation.environment import installed_refusal, organizations_policy, policy_in_force
from rye.installation.sources import with_signers
from rye.items.identity import Identity
from rye.items.signed_release import SignedRelease
from rye.project.layout import LOCK, Project
from rye.project.lock import LockedItem
from rye.project.manifest import Manifest
from rye.project.user_config import OtherPolicies, read_other_policies
from rye.storage.home import Home
from rye.workspace.context import Context
from rye.workspace.trusting.acceptance import agreement, remembered, require_remembered, trusts_lock
from rye.workspace.trusting.asking import require_yes
from rye.workspace.trusting.project_changes import project_changes, require_allowed, shown_lines
from rye.workspace.trusting.verified_items import require_verified


def require_accepted(
    context: Context,
    project: Project,
    manifest: Manifest,
    rows: Sequence[LockedItem],
    alone: Collection[Identity] = (),
) -> None:
    """Require that this user agreed to rye.lock's approvals for these items, and to the project's changes to them.

    ``alone``: items that are left out by themselves, because each is asked about again with the bytes that are read for it. What
    changes any other item stops everything.

    Raises RyeError ``project-not-accepted``, and ``policy-violation`` for a customization that the policy forbids.
    """
    policy = policy_in_force(manifest, read_other_policies(context.home, context.now()))
    require_allowed(context.home, policy, project, manifest, rows, own=False)
    changes = project_changes(context.home, project, manifest, rows, own=False)
    if trusts_lock(context):
        for line in shown_lines(changes):
            context.tell(line)
        return
    apart = {str(identity) for identity in alone}
    changes = tuple(one for one in changes if one.sort not in _CHANGES or one.item not in apart)
    here, others = remembered(context.home, project), [row for row in rows if by_other_rules(row)]
    late = here.late_in(others, require_verified(context, project, others)) if others else ()
    require_yes(context, (*here.new_in(rows), *late, *changes), None, project=project)


_CHANGES = frozenset(("customization", "customization-fact", "customization-run"))


def unapproved_items(
    context: Context, rows: Sequence[LockedItem], signed: Mapping[Identity, SignedRelease], manifest: Manifest
) -> dict[Identity, Finding]:
    """Return those of the items that ``rye install`` would ask about or refuse, each with the first reason. ``signed``: their
    releases."""
    others = read_other_policies(context.home, context.now())
    policy = policy_in_force(manifest, others)
    findings: dict[Identity, Finding] = {}
    refused = (*audit_lock(rows, policy), *audit_runs(rows, signed, policy), *_refused(context, others, rows, signed))
    for finding in (*_pending(rows), *refused):
        if finding.item is not None and finding.severity == "error":
            findings.setdefault(finding.item.identity, finding)
    return findings


def _refused(
    context: Context, others: OtherPolicies, rows: Sequence[LockedItem], signed: Mapping[Identity, SignedRelease]
) -> Iterator[Finding]:
    """Yield what the organizations that were joined refuse."""
    policy = organizations_policy(others)
    if policy is None:
        return
    for row in with_signers(rows, signed):
        why = installed_refusal(policy, row, signed[row.identity], context.now())
        if why is not None:
            message, hint = f"{row.identity} {row.version}: {why}.", "`rye org show` shows the policy, and whom to ask."
            yield Finding(rule="policy", severity="error", message=message, path=LOCK, item=row, hint=hint)


def _pending(rows: Sequence[LockedItem]) -> Iterator[Finding]:
    """Yield releases that ``rye lock`` chose but were never installed: their signers are not approved yet."""
    for row in rows:
        if row.approved.is_pending:
            message = f"{row.identity} {row.version} was locked, but no one has agreed to it yet."
            yield Finding(
                rule="unapproved-right",
                severity="error",
                message=message,
                path=LOCK,
                item=row,
                hint="`rye install` asks for it.",
            )


def counted(context: Context, project: Project, state: State) -> list[Allowed]:
    """Return the widenings in the state file that this user agreed to."""
    waiting = set(agreement(context, project).missing_from_lock(map(_approval, state.allowed)))
    return [one for one in state.allowed if _approval(one) not in waiting]


def agree(home: Home, project: Project, given: Sequence[Allowed]) -> None:
    """Remember that this user agreed to these widenings."""
    if given:
        require_remembered(home, project, map(_approval, given))


def _approval(one: Allowed) -> Ask:
    return Ask(one.item, "deploy", f"{one.target} {one.field} {one.sha256}")
