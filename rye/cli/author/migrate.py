"""``rye migrate``: bring items in an older format up to date."""

from __future__ import annotations

import shlex

import click

from rye.cli.author.proposed_change import agreement
from rye.cli.main import family
from rye.cli.options import Session, command
from rye.text.diagnostics import has_errors, in_order
from rye.workspace.authoring.directive_migration import migrate_directives


@command("directive")
@click.argument("paths", nargs=-1, required=True, metavar="FILE…")
@click.pass_obj
def directive(session: Session, paths: tuple[str, ...]) -> int:
    """Bring old directives up to date, after showing the change.

    Fixes what `rye validate --fix` fixes, turns <limits> into <cost>, and drops a signature that covers only the fence.
    """
    outcome = migrate_directives(
        session, paths, agreement(session, shlex.join(["rye", "migrate", "directive", "--yes", *paths]))
    )
    results: list[dict[str, object]] = []
    failed = False
    for one in outcome.directives:
        entry, change = one.checked, one.change
        findings = in_order(entry.diagnostics)
        if change is None or outcome.written:
            session.console.diagnostics(entry.shown, findings, entry.text)
            failed = failed or has_errors(findings)
        else:
            failed = True
        if change is None:
            session.console.say(f"{entry.shown} is up to date.")
        results.append(
            {
                "path": entry.shown,
                "written": outcome.written and change is not None,
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
    "Bring items in an older format up to date.",
    {"directive": ("rye.cli.author.migrate:directive", "Bring old directives up to date.")},
)
