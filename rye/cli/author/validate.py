"""``rye validate``: the findings of every rule, with place, code and fix."""

from __future__ import annotations

import shlex
import sys

import click

from rye.cli.console import counted
from rye.cli.kind_choice import kind_option
from rye.cli.options import Session, command
from rye.text.diagnostics import has_errors
from rye.workspace.authoring.misplaced import warn_of_misplaced
from rye.workspace.authoring.validating import validate_items


@command("validate")
@click.argument("paths", nargs=-1, metavar="PATH…")
@kind_option()
@click.option(
    "--strict",
    is_flag=True,
    help="Treat warnings about the rules of a format as errors. Text left over from a template and items that are not installed "
    "here stay warnings.",
)
@click.option("--fix", is_flag=True, help="Fix what has only one possible fix, after showing the change.")
@click.pass_obj
def validate(session: Session, paths: tuple[str, ...], kind: str | None, strict: bool, fix: bool) -> int:
    """Check items against the rules of their formats.

    PATH is a file, a folder (its agents and roles are checked as a closed set) or a pattern (default: the project's items).
    """
    if not paths:
        warn_of_misplaced(session)
    fixes: list[dict[str, object]] = []
    if fix:
        # Imported only for --fix: editors run `rye validate` on every save.
        from rye.cli.author.proposed_change import agreement
        from rye.workspace.authoring.fixing import fix_items

        again = shlex.join(["rye", "validate", "--fix", "--yes", *paths])
        fixed = fix_items(session, paths, kind, agreement(session, again))
        if not fixed.proposed:
            session.console.say("Nothing to fix.")
        fixes = [change.as_json(fixed.written) for change in fixed.proposed]
    results = []
    failed = warned = 0
    first: str | None = None
    for entry in validate_items(session, paths, kind, strict=strict):
        ok = not has_errors(entry.diagnostics)
        failed += not ok
        warned += sum(finding.severity == "warning" for finding in entry.diagnostics)
        if first is None:
            first = next((finding.code for finding in entry.diagnostics if finding.severity == "error"), None)
        results.append(
            {"path": entry.shown, "kind": entry.kind, "ok": ok, "diagnostics": [f.as_json() for f in entry.diagnostics]}
        )
        session.console.diagnostics(entry.shown, entry.diagnostics, entry.text)
    if session.json:
        session.console.document({"results": results, **({"fixes": fixes} if fix else {})})
    else:
        _summary(session, len(results), failed, warned)
        if first is not None and sys.stderr.isatty() and not session.console.quiet:
            session.console.explained_by(first)
    return 1 if failed else 0


def _summary(session: Session, total: int, failed: int, warned: int) -> None:
    items = counted(total, "item")
    warnings = f", {counted(warned, 'warning')}" if warned else ""
    if failed:
        session.console.data(session.console.style(f"{failed} of {items} failed{warnings}", "removed"))
    else:
        session.console.data(session.console.style(f"{items} valid{warnings}", "warning" if warned else "ok"))
