"""``rye trust project``: agree on this machine to what a project's rye.lock approves."""

from __future__ import annotations

import click

from rye.cli.console import counted
from rye.cli.options import Session, command
from rye.cli.project.installing import agreement
from rye.project.context import require_project
from rye.workspace.trusting.trusting_project import accept_project, forget_project


@command("project")
@click.option("--forget", is_flag=True, help="Withdraw your agreement; the next installation asks again.")
@click.pass_obj
def project(session: Session, forget: bool) -> None:
    """Show everything that rye.lock approves and you have not agreed to, and ask once.

    The first install in a cloned project asks the same question. Later, only new approvals are asked about. --yes does not
    answer it.
    """
    here = require_project(session.cwd)
    if forget:
        existed = forget_project(session.home, here)
        document: dict[str, object] = {"project": str(here.root), "forgotten": existed}
        said = "withdrew your agreement" if existed else "you had not agreed to anything"
    else:
        agreed = accept_project(session, here, agreement(session))
        document = {"project": str(here.root), "agreed": len(agreed)}
        said = (
            f"agreed to what is shown above: {counted(len(agreed), 'point')}"
            if agreed
            else "you have already agreed to everything that rye.lock approves and this project changes"
        )
    if session.json:
        session.console.document(document)
    else:
        session.console.data(said)
