"""``rye undeploy``: remove deployed files."""

from __future__ import annotations

import click

from rye.cli.deploy.shown import show_deployed
from rye.cli.options import Session, command
from rye.deployment.deploying import undeploy as undeploy_items
from rye.deployment.request import Scope
from rye.errors import UsageError
from rye.project.context import load_manifest, require_project


@command("undeploy")
@click.argument("items", nargs=-1, metavar="[KIND:]ID…")
@click.option("--all", "everything", is_flag=True, help="Remove everything that is deployed.")
@click.option(
    "--scope",
    type=click.Choice(["project", "user"]),
    default="project",
    show_default=True,
    help="Remove from the project, or from your home folder.",
)
@click.pass_obj
def undeploy(session: Session, items: tuple[str, ...], everything: bool, scope: Scope) -> None:
    """Remove the files that Rye deployed. Edited files stay, and Rye no longer manages them."""
    if bool(items) == everything:
        raise UsageError("usage", "Name items, or give --all.", "`rye deploy status` lists what is deployed.")
    project = require_project(session.cwd)
    targets = load_manifest(
        project
    ).deploy.targets  # before anything is removed: a rye.toml that cannot be read is an error
    done = undeploy_items(session, project, items, scope)
    show_deployed(session, done)
    count = len(done.changed)
    nothing = "nothing was removed" if done.kept or done.refused else "nothing was deployed"
    said = f"{count} file{'s' * (count != 1)} removed" if count else nothing
    session.console.answer(done.as_json(), said)
    if count and scope == "project" and targets:
        session.console.say(
            f"rye.toml still names {', '.join(targets)} as targets: the next `rye deploy`, `add` or `update` writes there again.",
            "dim",
        )
