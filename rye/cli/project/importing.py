"""``rye import``: import what another tool installs as sources and dependencies of rye.toml."""

from __future__ import annotations

import click

from rye.cli.console import one_line
from rye.cli.options import Session, command
from rye.cli.project.installing import install_options
from rye.workspace.installing.importing import ImportPlan, ImportRequest, import_project
from rye.workspace.registries.not_asked import not_asked_document


@command("import")
@click.argument("files", nargs=-1, metavar="[FILE…]")
@click.option(
    "--without", multiple=True, metavar="FILE|NAME", help="Leave out a file, or what it lists under a name; repeatable."
)
@install_options("dry_run")
@click.pass_obj
def import_command(session: Session, files: tuple[str, ...], without: tuple[str, ...], dry_run: bool) -> None:
    """Import apm.yml, skills-lock.json, .skill-lock.json, toolhive.lock.yaml, marketplace.json and agents' folders.

    Digests are compared first. Writes rye.toml and rye.lock, but installs nothing; `rye install` asks and installs.
    """

    request = ImportRequest(files, frozenset(without), dry_run)
    plan = import_project(session, request, lambda plan: _show(session, plan))
    if session.json:
        session.console.document(_document(plan, dry_run))
        return
    if dry_run or session.assume_yes or not session.interactive:
        _show(session, plan)
    if not plan.items:
        said = "none of it can be imported" if plan.left_out and not plan.present else "nothing new to import"
        session.console.data(said)
        return
    items, sources = len(plan.items), len({row.source.name for row in plan.items})
    count = f"{items} item{'s' * (items != 1)} from {sources} source{'s' * (sources != 1)}"
    if dry_run:
        session.console.data(f"would import {count} (--dry-run: nothing was written)")
        return
    session.console.data(f"imported {count}")
    session.console.say("Next: `rye install` shows what they may do, asks, and installs them.")


def _show(session: Session, plan: ImportPlan) -> None:
    for source in plan.sources:
        session.console.say(one_line(f"  + [sources] {source.name} = {source.spec}"), "added")
    for row in plan.items:
        commit = f" at {row.state.commit}" if row.state.commit is not None else ""
        checked = ", digest compared" if row.entry.digests else ""
        group = f" (group {row.group})" if row.group != "main" else ""
        session.console.say(one_line(f"  + {row.key}{group}   {row.state.place}{commit}{checked}"), "added")
    for note in plan.notes:
        session.warn(one_line(note))
    if plan.left_out:
        session.console.say("Left out, and kept as comments in rye.toml:" if plan.writes else "Left out:", "strong")
    for one in plan.left_out:
        what = one.what.removeprefix(f"{one.file}: ")  # a folder is named like its file
        session.console.say(one_line(f"  {one.file}: {what}: {one.reason}"), "dim")


def _document(plan: ImportPlan, dry_run: bool) -> dict[str, object]:
    return {
        "sources": [{"name": one.name, "spec": one.spec} for one in plan.sources],
        "items": [
            {
                "id": row.key,
                "group": row.group,
                "file": row.entry.file,
                "name": row.entry.name,
                "source": row.state.as_json(),
                "digests": [{"sort": one.sort, "value": one.value} for one in row.entry.digests],
            }
            for row in plan.items
        ],
        "left_out": [{"file": one.file, "what": one.what, "reason": one.reason} for one in plan.left_out],
        "notes": list(plan.notes),
        "present": plan.present,
        "dry_run": dry_run,
        **not_asked_document(plan.not_asked),
    }
