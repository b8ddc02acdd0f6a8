"""``rye add``: items into rye.toml, installed with what they depend on."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.cli.project.following import deploy_after
from rye.cli.project.install_options import command_text, install_options
from rye.cli.project.outcome import agreement, show_outcome
from rye.cli.registry.airgap_options import airgap_given
from rye.workspace.installing.adding import add as add_items
from rye.workspace.installing.install_request import InstallRequest
from rye.workspace.projects import project_of


@command("add")
@click.argument("items", nargs=-1, required=True, metavar="[KIND:]ID[@RANGE]…")
@install_options("group", "member", "approve", "dry_run", "discard", "airgap")
@click.pass_obj
def add(
    session: Session,
    items: tuple[str, ...],
    group: str,
    member: str | None,
    approved: tuple[str, ...],
    dry_run: bool,
    discard_local_edits: bool,
    bundle: str | None,
) -> int:
    """Add items to rye.toml and install them with what they depend on."""
    request = InstallRequest(
        command_text("add", items, group, member=member),
        approved=approved,
        dry_run=dry_run,
        discard_local_edits=discard_local_edits,
        airgap=airgap_given(session, bundle),
        follow=deploy_after,
    )
    outcome = add_items(session, project_of(session), request, items, group, agreement(session), member)
    return show_outcome(session, outcome, dry_run=dry_run)
