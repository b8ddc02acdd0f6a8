"""One installation: a request in, a result out, with consent through one callback.

If there is nothing to do, it uses no network and does not touch the project
(:mod:`rye.workspace.installing.up_to_date`). Otherwise it resolves versions or uses the lock, fetches, verifies,
shows the plan, gets consent, and writes the files as one transaction (:mod:`rye.workspace.installing.install_steps`).
Nothing is written before that, and nothing at all if the project was changed since it was read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rye.consent.facts import by_other_rules, byte_approvals, late_facts, late_notice
from rye.project.freshness import Unlock, in_groups, is_stale, require_fixed
from rye.verified.on_disk import scan
from rye.verified.require import verified_before
from rye.workspace.installing.following import follow
from rye.workspace.installing.install_outcome import InstallOutcome
from rye.workspace.installing.install_session import InstallSession, Look, open_session, retry_when_overtaken
from rye.workspace.installing.up_to_date import up_to_date
from rye.workspace.trusting.acceptance import accepted_before, remember

if TYPE_CHECKING:
    from rye.project.layout import Project
    from rye.workspace.context import Context
    from rye.workspace.installing.install_request import Agree, InstallRequest


def install(context: Context, project: Project, request: InstallRequest, agree: Agree) -> InstallOutcome:
    """Bring a project in line with its rye.toml and rye.lock."""
    return retry_when_overtaken(
        context, lambda: carry_out(open_session(context, project, request, agree), Unlock.nothing())
    )


def carry_out(session: InstallSession, unlock: Unlock) -> InstallOutcome:
    """Bring disk and lock in line with the session's manifest."""
    if session.request.lock_use != "repair":
        require_fixed(session.before.lock.items, session.manifest)
    stale = session.request.lock_use != "repair" and is_stale(session.before.lock, session.manifest)
    look = None if stale else _look(session, unlock)
    if look is not None and look.in_order and not look.waiting:
        return InstallOutcome("in-order", warnings=look.warned, followed=follow(session))
    from rye.workspace.installing.install_steps import (
        carry_on,  # loads solver, client and plan, not needed if all is up to date
    )

    return carry_on(session, unlock, look)


def _look(session: InstallSession, unlock: Unlock) -> Look:
    """The state of the project, and whether anything has to be done."""
    request, before = session.request, session.before
    warned = (*session.look_for_shadows(before.lock.items), *session.look_for_unused_overrides())
    present = scan(before.project)
    if request.lock_use == "frozen":
        session.refuse_edits("rye install", present)
    unchanged = unlock.is_nothing and session.keeps_manifests
    if not unchanged or not up_to_date(
        session.context, before, session.manifest, request.without, present, session.policies
    ):
        return Look(warned, in_order=False)
    items = in_groups(before.lock.items, request.without)
    changes, told = session.look_at_changes(items)
    warned += told
    if request.dry_run:
        return Look(warned, in_order=True)
    agreement, others = session.agreement, [item for item in items if by_other_rules(item)]
    waiting = (*agreement.new_in(items), *changes)
    if others:
        signed = verified_before(session.context.home, others)
        waiting += agreement.late_in(others, signed)
        late = late_facts(others, signed)
        if late and request.approved:
            return Look(warned, in_order=False)
        if late and not waiting:
            session.context.warn(*late_notice(late))
    if not waiting and not agreement.trusts_lock and not accepted_before(session.context.home, before.project):
        remember(session.context.home, before.project, byte_approvals(items), accepts=True)
    return Look(warned, in_order=True, waiting=waiting)
