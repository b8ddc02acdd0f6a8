"""``rye rollback``: back to the lock before the last update, through the same verification and consent as any installation."""

from __future__ import annotations

import click

from rye.cli.console import printable
from rye.cli.options import Session, command
from rye.cli.project.installing import Run, Told
from rye.errors import RyeError
from rye.project.context import require_project


@command("rollback")
@click.option(
    "--approve", "approved", multiple=True, metavar="ID@VERSION", help="Approve this item's rights, hooks and signer."
)
@click.option("--dry-run", is_flag=True, help="Show what would change, and stop.")
@click.option(
    "--discard-local-edits", is_flag=True, help="Put the signed bytes back over files edited in .ai/packages."
)
@click.pass_obj
def rollback(session: Session, approved: tuple[str, ...], dry_run: bool, discard_local_edits: bool) -> None:
    """Return to rye.toml and rye.lock as they were before the last change of the lock, exactly those versions.

    Running it again goes forward again. Edits of rye.toml since then are given up only with --yes.
    """
    from rye.installation.resolving import Chosen, locked_records
    from rye.installation.rollback import edits_since, previous

    project = require_project(session.cwd)
    lock, text = previous(project)
    told = Told("rye rollback", approved, dry_run, discard_local_edits)
    run = Run(session, project, told, text)
    if text is not None and text != run.text_before:
        _refuse_edits(session, edits_since(project, run.lock, run.text_before), dry_run)
    with run.sources() as sources:
        run.install_chosen(
            sources,
            lambda s, environment: {
                item.identity: Chosen(record, item.dependencies, item.groups)
                for records in [locked_records(lock, s, environment)]
                for item in lock.items
                for record in [records[item.identity]]
            },
            lock.wanted,  # the manifest may have asked for something newer already
        )


_SHOWN_LINES = 20


def _refuse_edits(session: Session, edits: list[str], dry_run: bool) -> None:
    """What a person wrote into rye.toml is not taken out of it silently."""
    if not edits:
        return
    shown = [printable(line) for line in edits[:_SHOWN_LINES]] + ["…"] * (len(edits) > _SHOWN_LINES)
    lost = "\n".join(
        ["rye.toml was edited since the last change of rye.lock; going back gives these edits up:", *shown]
    )
    if not session.yes and not dry_run:
        raise RyeError(
            "edited-manifest",
            lost,
            "Commit or copy rye.toml, then `rye rollback --yes`; another `rye rollback` brings it back.",
            details={"edits": edits},
        )
    session.console.warn(lost)
