"""``rye validate``: findings of every rule, with place, code and how to fix them."""

from __future__ import annotations

import shlex

import click

from rye.cli.kind_choice import kind_option
from rye.cli.options import Session, command
from rye.project.checking import check_files
from rye.project.context import arguments_or_own_items, read_options
from rye.text.diagnostics import in_order
from rye.text.diagnostics import strict as as_errors


@command("validate")
@click.argument("paths", nargs=-1, metavar="PATH…")
@kind_option()
@click.option("--strict", is_flag=True, help="Make warnings errors.")
@click.option("--fix", is_flag=True, help="Fix what has one answer, after showing the change.")
@click.pass_obj
def validate(session: Session, paths: tuple[str, ...], kind: str | None, strict: bool, fix: bool) -> int:
    """Check items against the rules of their format.

    PATH is a file, a folder (its agents and roles are checked as a closed set) or a pattern; none: the project's items.
    """
    found = arguments_or_own_items(session.cwd, paths)
    fixes: list[dict[str, object]] = []
    if fix:
        # What only --fix needs: `rye validate` is run on every save.
        from rye.cli.author.proposed_change import offer
        from rye.workspace.fixing import propose_fixes

        proposed = propose_fixes(session, found, kind)
        written = offer(session, proposed, shlex.join(["rye", "validate", "--fix", "--yes", *paths]))
        if not proposed:
            session.console.say("Nothing to fix.")
        fixes = [change.as_json(written) for change in proposed]
    checked = check_files(found, kind, read_options(session.cwd))
    results = []
    failed = 0
    for entry in checked:
        findings = in_order(as_errors(entry.diagnostics) if strict else entry.diagnostics)
        ok = all(finding.severity != "error" for finding in findings)
        failed += not ok
        results.append(
            {"path": entry.shown, "kind": entry.kind, "ok": ok, "diagnostics": [f.as_json() for f in findings]}
        )
        session.console.diagnostics(entry.shown, findings, entry.text)
    if session.json:
        session.console.document({"results": results, **({"fixes": fixes} if fix else {})})
    else:
        _summary(session, len(results), failed)
    return 1 if failed else 0


def _summary(session: Session, total: int, failed: int) -> None:
    noun = "item" if total == 1 else "items"
    if failed:
        session.console.data(session.console.style(f"{failed} of {total} {noun} failed", "removed"))
    else:
        session.console.data(session.console.style(f"{total} {noun} valid", "ok"))
