"""``rye rollback``: return to the lock before the last update."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.cli.project.installing import agreement, deploy_after, install_options, show_outcome
from rye.deployment.not_restored import deployed_before, not_restored
from rye.project.context import require_project
from rye.project.lock_file import read_lock
from rye.workspace.installing.install_request import InstallRequest
from rye.workspace.installing.rolling_back import rollback as return_to_previous

_NAMED = 4


@command("rollback")
@install_options("approve", "dry_run", "discard")
@click.pass_obj
def rollback(session: Session, approved: tuple[str, ...], dry_run: bool, discard_local_edits: bool) -> int:
    """Return to rye.toml and rye.lock, and the exact versions, from before the lock's last change.

    Running it again undoes the rollback. Edits made to rye.toml since then are discarded only with --yes. Files of agent programs
    that rye.toml does not name are not written again; it says which.
    """
    request = InstallRequest(
        command="rye rollback",
        approved=approved,
        dry_run=dry_run,
        discard_local_edits=discard_local_edits,
        follow=deploy_after,
    )
    project = require_project(session.cwd)
    before = deployed_before(project)
    outcome = return_to_previous(session, project, request, agreement(session))
    is_done = outcome.result == "installed" and not dry_run
    same = "rye.toml and rye.lock are as before the last change, which moved no item"
    in_order = (
        same if read_lock(project).items else "rye.toml and rye.lock are as before the last change; no item is listed"
    )
    code = show_outcome(session, outcome, dry_run=dry_run, in_order=in_order)
    if is_done and not outcome.changes:
        session.console.say("`rye rollback` once more takes this back; `rye add [KIND:]ID` adds an item.", "hint")
    for program, items in (not_restored(project, before) if is_done else {}).items():
        named = f"{', '.join(items[:_NAMED])}{', …' if len(items) > _NAMED else ''}"
        session.console.warn(
            f"{program} had files of {named}, which are not back: rye.toml does not name {program} as a target.",
            f"`rye deploy --target {program}` writes them.",
        )
    back = [change for change in outcome.changes if change.action == "downgrade" and change.new is not None]
    if back and is_done:
        first, new = back[0].identity, back[0].new
        assert new is not None
        session.console.say(
            "`rye rollback` once more takes this back, and the next `rye update` moves on again. "
            f"To stay: `rye add '{first}@={new.version}'`{', and so on' if len(back) > 1 else ''}.",
            "hint",
        )
    return code
