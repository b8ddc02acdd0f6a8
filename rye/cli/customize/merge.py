"""``rye merge``: apply an overrides file to its target (DECISIONS Overrides 16, 19).

Exit 0: notices and warnings at most. 1: a directive was invalid (the result of the others is still written), or drift.
2: the overrides file is rejected, and nothing is written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import date

import click

from rye.cli.console import printable
from rye.cli.customize.dates import parse_date
from rye.cli.options import Session, command
from rye.customization.merge import MergeStep
from rye.errors import RyeError, UsageError
from rye.text.diagnostics import Diagnostic
from rye.workspace.customizing.merging import Merged, MergeRequest, migrate
from rye.workspace.customizing.merging import merge as merge_files
from rye.workspace.named_file import NamedFile


@command("merge")
@click.argument("files", nargs=-1, metavar="BASE OVERRIDES")
@click.option("-o", "--output", metavar="OUT", help="Write the result to OUT instead of printing it.")
@click.option("--today", metavar="DATE", callback=parse_date, help="Report reviews that are too old on this date.")
@click.option("--explain", is_flag=True, help="Report what each directive did and where.")
@click.option("--check", metavar="FILE", help="Compare the result with FILE; on a difference show a diff and exit 1.")
@click.option(
    "--migrate-legacy",
    is_flag=True,
    help="Write directives for an OVERRIDES file in the old format, or for the result of an old merge.",
)
@click.pass_obj
def merge(
    session: Session,
    files: tuple[str, ...],
    output: str | None,
    today: date | None,
    explain: bool,
    check: str | None,
    migrate_legacy: bool,
) -> int:
    """Merge OVERRIDES into BASE and print the result.

    With --migrate-legacy, give OVERRIDES alone, or BASE and EFFECTIVE (the result of an old merge). The new directives are
    verified by merging them again.
    """
    if migrate_legacy:
        if explain or check is not None:
            raise UsageError(
                "usage", "--migrate-legacy cannot be combined with --explain or --check.", "Leave them out."
            )
        if len(files) not in (1, 2):
            raise UsageError(
                "usage",
                f"--migrate-legacy expects OVERRIDES, or BASE and EFFECTIVE, not {len(files)} files.",
                "`rye merge --help` shows how it is used.",
            )
        return _migrate(session, files, output, today)
    if output is not None and check is not None:
        raise UsageError("usage", "--check writes nothing, so it cannot be combined with -o.", "Leave one of them out.")
    return _merge(session, _exactly(files, 2, "BASE and OVERRIDES"), output, today, explain, check)


def _exactly(files: tuple[str, ...], count: int, names: str) -> tuple[str, ...]:
    if len(files) != count:
        raise UsageError(
            "usage", f"rye merge expects {names}, not {len(files)} files.", "`rye merge --help` shows how it is used."
        )
    return files


def _merge(
    session: Session, files: tuple[str, ...], output: str | None, today: date | None, explain: bool, check: str | None
) -> int:
    base, overrides = (NamedFile(session.path(file), file) for file in files)
    request = MergeRequest(
        base,
        overrides,
        output=NamedFile(session.path(output), output) if output is not None else None,
        check=NamedFile(session.path(check), check) if check is not None else None,
        today=today,
    )
    done = merge_files(request)
    result = done.result
    if result.output is None:
        if session.json:
            result.text()  # raises, with every finding in the error document
        report(session, result.diagnostics, overrides.path.name)
        return 2
    if session.json:
        session.console.document(_document(done, request))
    else:
        report(session, result.diagnostics, overrides.path.name)
        if explain:
            explain_steps(session, result.steps, base.path.name)
        if check is not None:
            _print(session, done.drift or "")
        elif output is None:
            _print(session, result.output)
    return 1 if done.drift is not None else result.exit_code


def _document(done: Merged, request: MergeRequest) -> dict[str, object]:
    document: dict[str, object] = {
        "output": done.result.output,
        "diagnostics": [finding.as_json() for finding in done.result.diagnostics],
        "steps": [step.as_json() for step in done.result.steps],
    }
    if request.output is not None:
        document["written"] = request.output.shown
    if request.check is not None:
        document["drift"] = done.drift
    return document


def _migrate(session: Session, files: tuple[str, ...], output: str | None, today: date | None) -> int:
    named = tuple(NamedFile(session.path(file), file) for file in files)
    target = NamedFile(session.path(output), output) if output is not None else None
    migration = migrate(named, target, today)
    name = named[-1].path.name
    if migration.output is None:
        if session.json:
            errors = [finding for finding in migration.diagnostics if finding.severity == "error"]
            findings = [finding.as_json() for finding in migration.diagnostics]
            session.console.error(
                RyeError(errors[0].code, errors[0].message, errors[0].hint, details={"diagnostics": findings})
            )
        report(session, migration.diagnostics, name)
        return 2
    if session.json:
        document: dict[str, object] = {
            "output": migration.output,
            "diagnostics": [finding.as_json() for finding in migration.diagnostics],
        }
        session.console.document(document | ({"written": output} if output is not None else {}))
    else:
        report(session, migration.diagnostics, name)
        if output is None:
            _print(session, migration.output)
    return 0


def _print(session: Session, text: str) -> None:
    session.console.data(printable(text) if sys.stdout.isatty() else text, newline=False)


def report(session: Session, diagnostics: Iterable[Diagnostic], name: str) -> None:
    """Print findings about an overrides file on stderr, as ``SEVERITY: …`` with the line if known."""
    if session.json:
        return
    for finding in diagnostics:
        if session.quiet and finding.severity in ("notice", "info"):
            continue
        place = f" ({name}, line {finding.line})" if finding.line is not None and "\n" not in finding.message else ""
        click.echo(printable(f"{finding.severity.upper()}: {finding.message}{place}"), err=True)
        if finding.hint:
            click.echo(printable(f"  Hint: {finding.hint}"), err=True)


def explain_steps(session: Session, steps: Iterable[MergeStep], base_name: str) -> None:
    """Print what each directive did and where, on stderr; it was asked for, so even with ``--quiet``."""
    for step in steps:
        where = f" ({base_name}, line {step.base_line})" if step.base_line is not None else ""
        line = f"line {step.line}: {step.operation} {step.target}: {step.outcome}: {step.detail}{where}"
        click.echo(printable(line), err=True)
        click.echo(printable(f"  Reason: {step.reason}"), err=True)
