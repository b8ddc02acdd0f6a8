"""``rye rollback``: return to the lock before the last update."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.cli.project.installing import agreement, deploy_after, install_options, show_outcome
from rye.project.context import require_project
from rye.project.layout import Project
from rye.workspace.installing.install_request import InstallRequest
from rye.workspace.installing.rolling_back import rollback as return_to_previous

_SAME = "rye.toml and rye.lock are as before their last change, which moved no item"
_NAMED = 4
"""Of many items whose files are not back, how many are named."""


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
    outcome = return_to_previous(session, project, request, agreement(session))
    is_done = outcome.result == "installed" and not dry_run
    code = show_outcome(session, outcome, dry_run=dry_run, in_order=_SAME)
    if is_done and not outcome.changes:
        session.console.say("Run `rye rollback` again to undo this; `rye list` shows what is installed.", "hint")
    if is_done and outcome.deployed_before is not None:
        _show_not_restored(session, project, outcome.deployed_before)
    back = [change for change in outcome.changes if change.action == "downgrade" and change.new is not None]
    if back and is_done:
        first, new = back[0].identity, back[0].new
        assert new is not None
        session.console.say(
            "Run `rye rollback` again to undo this; the next `rye update` moves on again. "
            f"To stay: `rye add '{first}@={new.version}'`{', and so on' if len(back) > 1 else ''}.",
            "hint",
        )
    return code


def _show_not_restored(session: Session, project: Project, before: bytes) -> None:
    from rye.deployment.comparing import not_restored  # loads adapters, needed only where something was deployed

    for program, items in not_restored(project, before).items():
        named = f"{', '.join(items[:_NAMED])}{', …' if len(items) > _NAMED else ''}"
        session.console.warn(
            f"{program} had files of {named}, which are not back: rye.toml does not name {program} as a target.",
            f"`rye deploy --target {program}` writes them.",
        )
