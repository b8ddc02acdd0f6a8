"""``rye remove``: remove items from rye.toml."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.cli.project.installing import agreement, command_text, deploy_after, install_options, show_outcome
from rye.project.context import require_project
from rye.workspace.installing.install_request import InstallRequest
from rye.workspace.installing.removing import remove as remove_items


@command("remove")
@click.argument("items", nargs=-1, required=True, metavar="[KIND:]ID… | --all NAMESPACE…")
@click.option("--all", "everything", is_flag=True, help="Remove every item of these namespaces or sources.")
@install_options("member", "dry_run", "discard")
@click.pass_obj
def remove(
    session: Session,
    items: tuple[str, ...],
    everything: bool,
    member: str | None,
    dry_run: bool,
    discard_local_edits: bool,
) -> int:
    """Remove items from rye.toml, and dependencies that nothing else needs. The end of an ID will do if only one item has it."""
    request = InstallRequest(
        command=command_text("remove", (*(["--all"] if everything else []), *items), member=member),
        dry_run=dry_run,
        discard_local_edits=discard_local_edits,
        follow=deploy_after,
    )
    project = require_project(session.cwd)
    outcome = remove_items(session, project, request, items, agreement(session), member, everything=everything)
    return show_outcome(session, outcome, dry_run=dry_run)
