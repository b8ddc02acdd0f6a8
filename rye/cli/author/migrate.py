"""``rye migrate``: brings items of an older form to today's rules."""

from __future__ import annotations

import shlex

import click

from rye.cli.author.proposed_change import offer
from rye.cli.main import family
from rye.cli.options import Session, command
from rye.errors import RyeError
from rye.project.checking import check_files
from rye.project.context import read_options
from rye.project.discovery import expand
from rye.project.item_file import load_item
from rye.text.diagnostics import has_errors, in_order
from rye.workspace.fixing import propose_migration


@command("directive")
@click.argument("paths", nargs=-1, required=True, metavar="FILE…")
@click.pass_obj
def directive(session: Session, paths: tuple[str, ...]) -> int:
    """Bring old directives to today's rules, after showing the change.

    Fixes what `rye validate --fix` fixes, makes a <cost> from <limits>, and drops a signature over the fence alone.
    """
    found = expand(paths, session.cwd)
    if any(entry.set_root is not None for entry in found):
        found = [e for e in found if load_item(e.path, shown=e.shown).location.kind == "directive"]
        if not found:
            raise RyeError("no-items", "There are no directives below that folder.", "Give a directive's file.")
    proposed = [change for entry in found if (change := propose_migration(entry.path, entry.shown)) is not None]
    written = offer(session, proposed, shlex.join(["rye", "migrate", "directive", "--yes", *paths]))
    by_path = {change.shown: change for change in proposed}
    results: list[dict[str, object]] = []
    failed = bool(proposed) and not written
    for entry in check_files(found, "directive", read_options(session.cwd)):
        change = by_path.get(entry.shown)
        findings = in_order(entry.diagnostics)
        if change is None or written:
            session.console.diagnostics(entry.shown, findings, entry.text)
            failed = failed or has_errors(findings)
        if change is None:
            session.console.say(f"{entry.shown} is up to date.")
        results.append(
            {
                "path": entry.shown,
                "written": written and change is not None,
                "changes": list(change.changes) if change else [],
                "diff": change.diff if change else "",
                "diagnostics": [finding.as_json() for finding in findings],
            }
        )
    if session.json:
        session.console.document({"results": results})
    return 1 if failed else 0


migrate = family(
    "migrate",
    "Bring items of an older form to today's rules.",
    {"directive": ("rye.cli.author.migrate:directive", "Bring old directives to today's rules.")},
)
