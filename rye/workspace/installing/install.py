"""One installation: words in, a plan out, consent through one callback, a result out.

An attempt that has nothing to do touches no network and leaves the project alone
(:mod:`rye.workspace.installing.nothing_to_do`). Every other one resolves or takes the lock, fetches, verifies, shows, gets
consent, and switches the files as one transaction. Nothing is written before the switch, and nothing when somebody else
changed the project since it was read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rye.errors import RyeError
from rye.installation.completeness import does_not_fit, problems
from rye.installation.on_disk import scan
from rye.installation.transaction import exclusive
from rye.installation.unlock import Unlock
from rye.project.freshness import in_groups, is_stale
from rye.workspace.installing.consent import accept_lock
from rye.workspace.installing.install_outcome import InstallOutcome
from rye.workspace.installing.install_session import InstallSession, open_session, retry_when_overtaken
from rye.workspace.installing.nothing_to_do import nothing_to_do
from rye.workspace.trusting.acceptance import approvals, remember

if TYPE_CHECKING:
    from rye.project.layout import Project
    from rye.workspace.context import Context
    from rye.workspace.installing.install_request import Agree, InstallRequest


def install(context: Context, project: Project, request: InstallRequest, agree: Agree) -> InstallOutcome:
    """Bring a project to what its rye.toml and rye.lock say."""
    return retry_when_overtaken(
        context, lambda: carry_out(open_session(context, project, request, agree), Unlock.nothing())
    )


def carry_out(session: InstallSession, unlock: Unlock) -> InstallOutcome:
    """Bring disk and lock to what the session's manifest asks for."""
    request, before = session.request, session.before
    if request.lock_use != "repair":
        _refuse_stale_lock(session)
    warned = session.look_for_shadows(before.lock.items)
    present = scan(before.project)
    if request.lock_use == "frozen":
        session.refuse_edits("rye install", present)
    unchanged = unlock.is_nothing and session.manifest_text == before.manifest_text
    if unchanged and nothing_to_do(session.context, before, session.manifest, request.without, present):
        _accept(session)
        return InstallOutcome("in-order", warnings=warned, followed=_follow(session))
    if not session.manifest.dependencies and not before.lock.items:
        return InstallOutcome("nothing-wanted", followed=_follow(session))
    from rye.workspace.installing.install_steps import resolve_and_install  # solver and client: not needed above

    return resolve_and_install(session, unlock)


def _follow(session: InstallSession) -> object | None:
    """What belongs on top of an installation that changes nothing: looked at first, since it seldom changes anything."""
    follow, project = session.request.follow, session.before.project
    found = follow(session.context, project) if follow is not None and not session.request.dry_run else None
    if follow is None or found is None:
        return None
    if not found[0].changes and not found[0].folders:
        return found[1]
    with exclusive(project) as writer:
        again = follow(session.context, project)
        if again is None:
            return None
        writer.apply(again[0].changes, folders=again[0].folders)
        return again[1]


def _accept(session: InstallSession) -> None:
    """What rye.lock approves of what is installed counts here, or a person is asked."""
    waiting = session.unseen(approvals(in_groups(session.before.lock.items, session.request.without)))
    if waiting and not session.request.dry_run:
        accept_lock(session.context, session.agree, waiting)
        remember(session.before.project, waiting)


def _refuse_stale_lock(session: InstallSession) -> None:
    """Raises RyeError ``no-lock`` or ``lock-does-not-fit`` where the lock was made for another manifest."""
    if not is_stale(session.before.lock, session.manifest):
        return
    if session.before.lock_bytes is None:
        raise RyeError("no-lock", "There is no rye.lock to install from.", "Run `rye install`, and commit rye.lock.")
    raise does_not_fit(problems(session.manifest, session.before.lock, {}))
