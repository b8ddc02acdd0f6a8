"""``rye rollback``: return to the lock before the last update."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.cli.project.installing import agreement, deploy_after, install_options, show_outcome
from rye.project.context import require_project
from rye.workspace.installing.install_request import InstallRequest
from rye.workspace.installing.rolling_back import rollback as return_to_previous


@command("rollback")
@install_options("approve", "dry_run", "discard")
@click.pass_obj
def rollback(session: Session, approved: tuple[str, ...], dry_run: bool, discard_local_edits: bool) -> int:
    """Return to rye.toml and rye.lock, and the exact versions, from before the lock's last change.

    Running it again undoes the rollback. Edits made to rye.toml since then are discarded only with --yes.
    """
    request = InstallRequest(
        command="rye rollback",
        approved=approved,
        dry_run=dry_run,
        discard_local_edits=discard_local_edits,
        follow=deploy_after,
    )
    outcome = return_to_previous(session, require_project(session.cwd), request, agreement(session))
    code = show_outcome(session, outcome, dry_run=dry_run)
    back = [change for change in outcome.changes if change.action == "downgrade" and change.new is not None]
    if back and not dry_run and outcome.result == "installed":
        first, new = back[0].identity, back[0].new
        assert new is not None
        session.console.say(
            "`rye rollback` once more takes this back, and the next `rye update` moves on again. "
            f"To stay: `rye add '{first}@={new.version}'`{', and so on' if len(back) > 1 else ''}.",
            "hint",
        )
    return code
