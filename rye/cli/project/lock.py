"""``rye lock``: versions into rye.lock, without installing them."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.cli.project.install_options import install_options
from rye.project.context import require_project
from rye.workspace.locking import check_lock, relock


@command("lock")
@click.option("--check", is_flag=True, help="Only say whether rye.lock fits rye.toml; exit 1 when it does not.")
@install_options("dry_run")
@click.pass_obj
def lock(session: Session, check: bool, dry_run: bool) -> int:
    """Choose versions and write rye.lock without installing. Nothing is approved by it."""
    project = require_project(session.cwd)
    if check:
        found = check_lock(session, project)
        unfit = "rye.lock does not fit rye.toml" if found.exists else "there is no rye.lock"
        _show(session, "rye.lock fits rye.toml" if found.fits else unfit, dry_run, stale=not found.fits)
        return 0 if found.fits else 1
    outcome = relock(session, project, dry_run=dry_run)
    said = f"locked {outcome.items} items" if outcome.changed else "rye.lock is up to date"
    _show(session, f"{said} (--dry-run: nothing was written)" if dry_run else said, dry_run)
    return 0


def _show(session: Session, said: str, dry_run: bool, **more: object) -> None:
    if session.json:
        session.console.document({"changes": [], "message": said, "warnings": [], "dry_run": dry_run, **more})
    else:
        session.console.data(said)
