"""``rye lock``: choose versions and write them to rye.lock, without installing."""

from __future__ import annotations

import click

from rye.cli.console import counted, one_line
from rye.cli.options import Session, command
from rye.cli.project.installing import install_options
from rye.errors import UsageError
from rye.project.context import require_project
from rye.project.layout import Project
from rye.workspace.installing.locking import check_lock, merge_files, relock
from rye.workspace.registries.not_asked import not_asked_document


@command("lock")
@click.option("--check", is_flag=True, help="Only check whether rye.lock matches rye.toml; exit 1 if not.")
@click.option(
    "--merge",
    "three",
    nargs=3,
    metavar="BASE OURS THEIRS",
    help="Merge three versions of rye.lock into the file OURS, as git's merge driver; exit 1 if it conflicts.",
)
@install_options("dry_run")
@click.pass_obj
def lock(session: Session, check: bool, three: tuple[str, str, str] | None, dry_run: bool) -> int:
    """Choose versions and write rye.lock without installing. This approves nothing."""
    if three is not None:
        return _merge(session, three, other_options=check or dry_run)
    project = require_project(session.cwd)
    if check:
        return _check(session, project, dry_run)
    outcome = relock(session, project, dry_run=dry_run)
    said = f"locked {counted(outcome.items, 'item')}" if outcome.changed else "rye.lock is up to date"
    said = f"{said} (--dry-run: nothing was written)" if dry_run else said
    missing = not_asked_document(outcome.not_asked)
    _show(session, said, dry_run, changes=[moved.as_json() for moved in outcome.moved], **missing)
    for moved in outcome.moved:
        versions = " → ".join(version for version in (moved.before, moved.after) if version is not None)
        session.console.say(f"  {moved.action} {moved.identity} {versions}")
    return 0


def _merge(session: Session, three: tuple[str, str, str], *, other_options: bool) -> int:
    if other_options:
        raise UsageError("contradiction", "--merge cannot be combined with other options.", "Leave them out.")
    base, ours, theirs = (session.path(name) for name in three)
    clean = merge_files(base, ours, theirs)
    said = "merged rye.lock" if clean else "rye.lock: both sides changed the same items; `rye install` resolves it"
    session.console.answer({"merged": clean, "message": said}, said)
    return 0 if clean else 1


def _check(session: Session, project: Project, dry_run: bool) -> int:
    found = check_lock(session, project)
    unfit = "rye.lock does not match rye.toml" if found.exists else "rye.lock does not exist"
    rows = [problem.as_json() for problem in found.problems]
    said = "rye.lock matches rye.toml" if found.fits else unfit
    _show(session, said, dry_run, stale=not found.fits, fits=found.fits, problems=rows)
    for problem in found.problems if found.exists else ():
        session.console.data(one_line(f"{problem.rule} {problem.item}: {problem.message}"))
        if problem.chain:
            session.console.say(one_line(f"  {' → '.join(problem.chain)}"), "dim")
    if found.hint is not None:
        session.console.say(f"  {found.hint}")
    return 0 if found.fits else 1


def _show(session: Session, said: str, dry_run: bool, **more: object) -> None:
    if session.json:
        session.console.document({"changes": [], "message": said, "warnings": [], "dry_run": dry_run, **more})
    else:
        session.console.data(said)
