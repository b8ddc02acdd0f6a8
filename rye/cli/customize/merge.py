"""``rye merge``: a target with its overrides (DECISIONS Overrides 16, 19).

Exit 0: notices and warnings at most. 1: a directive was in error, and the result of the rest is written all the same; or drift.
2: the overrides file is rejected, and nothing is written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rye.cli.options import Session, command
from rye.errors import RyeError, UsageError

if TYPE_CHECKING:
    from rye.customization.merge import MergeResult, Step
    from rye.text.diagnostics import Diagnostic


def parse_date(_ctx: click.Context, _param: click.Parameter, value: str | None) -> date | None:
    """The value of a ``--today`` option."""
    if value is None:
        return None
    try:
        found = date.fromisoformat(value)
    except ValueError:
        found = None
    if found is None or found.isoformat() != value:
        raise UsageError("bad-date", f"{value!r} is no date.", "Write it as YYYY-MM-DD.")
    return found


@command("merge")
@click.argument("files", nargs=-1, metavar="BASE OVERRIDES")
@click.option("-o", "--output", metavar="OUT", help="Write the result to OUT instead of printing it.")
@click.option("--today", metavar="DATE", callback=parse_date, help="Report a review that is too old on this date.")
@click.option("--explain", is_flag=True, help="Say of each directive what it did and where.")
@click.option("--check", metavar="FILE", help="Compare the result with FILE; exit 1 with a diff where they differ.")
@click.option("--migrate-legacy", is_flag=True, help="Rewrite OVERRIDES, in the old format of plain H2 sections.")
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
    """Merge OVERRIDES into BASE and print the result. With --migrate-legacy only OVERRIDES is given."""
    if migrate_legacy:
        if explain or check is not None:
            raise UsageError("usage", "--migrate-legacy goes with neither --explain nor --check.", "Leave them out.")
        return _migrate(session, _exactly(files, 1, "OVERRIDES"), output, today)
    if output is not None and check is not None:
        raise UsageError("usage", "--check writes nothing, so -o makes no sense with it.", "Leave one of them out.")
    return _merge(session, _exactly(files, 2, "BASE and OVERRIDES"), output, today, explain, check)


def _exactly(files: tuple[str, ...], count: int, names: str) -> tuple[str, ...]:
    if len(files) != count:
        raise UsageError("usage", f"Give {names}; got {len(files)} files.", "`rye merge --help` shows how it is used.")
    return files


def _merge(
    session: Session, files: tuple[str, ...], output: str | None, today: date | None, explain: bool, check: str | None
) -> int:
    from rye.customization.merge import drift
    from rye.customization.merge import merge as merge_texts

    base_path, overrides_path = (session.path(file) for file in files)
    _refuse_overwriting(session, output, files)
    base = _read(base_path, files[0])
    overrides = _read(overrides_path, files[1], rejects=True)
    result = merge_texts(
        base,
        overrides,
        base_name=_name_of(base_path),
        overrides_name=overrides_path.name,
        base_file=base_path.name,
        today=today,
    )
    if result.output is None:
        if session.json:
            result.text()  # raises: the error document has every finding
        report(session, result.diagnostics, overrides_path.name)
        return 2
    difference = None
    if check is not None:
        actual = _read(session.path(check), check)
        difference = drift(result.output, actual, merged_name="merged", actual_name=check)
    if output is not None:
        _write(session.path(output), result.output)
    if session.json:
        session.console.document(_document(result, output, check, difference))
    else:
        report(session, result.diagnostics, overrides_path.name)
        if explain:
            explain_steps(session, result.steps, base_path.name)
        if check is not None:
            _print(session, difference or "")
        elif output is None:
            _print(session, result.output)
    return 1 if difference is not None else result.exit_code


def _document(result: MergeResult, output: str | None, check: str | None, difference: str | None) -> dict[str, object]:
    document: dict[str, object] = {
        "output": result.output,
        "diagnostics": [finding.as_json() for finding in result.diagnostics],
        "steps": [step.as_json() for step in result.steps],
    }
    if output is not None:
        document["written"] = output
    if check is not None:
        document["drift"] = difference
    return document


def _migrate(session: Session, files: tuple[str, ...], output: str | None, today: date | None) -> int:
    from rye.customization.legacy import migrate_legacy

    path = session.path(files[0])
    _refuse_overwriting(session, output, files)
    text = _read(path, files[0], rejects=True)
    migration = migrate_legacy(text, agent=path.resolve().parent.name or None, today=today)
    if migration.output is None:
        errors = [finding for finding in migration.diagnostics if finding.severity == "error"]
        if session.json:
            error = RyeError(
                errors[0].code,
                errors[0].message,
                errors[0].hint,
                details={"diagnostics": [finding.as_json() for finding in migration.diagnostics]},
            )
            session.console.error(error)
        report(session, migration.diagnostics, path.name)
        return 2
    if output is not None:
        _write(session.path(output), migration.output)
    if session.json:
        findings = [finding.as_json() for finding in migration.diagnostics]
        document: dict[str, Any] = {"output": migration.output, "diagnostics": findings}
        session.console.document(document | ({"written": output} if output is not None else {}))
    else:
        report(session, migration.diagnostics, path.name)
        if output is None:
            _print(session, migration.output)
    return 0


def _refuse_overwriting(session: Session, output: str | None, files: Iterable[str]) -> None:
    if output is None:
        return
    target = session.path(output)
    for file in files:
        if target.exists() and session.path(file).exists() and target.samefile(session.path(file)):
            raise UsageError("overwrites-input", f"-o {output} would overwrite what is read.", "Name another file.")


def _name_of(path: Path) -> str | None:
    """What names a target without a ``name``: its place below ``.ai``, else its folder (DECISIONS Overrides 19)."""
    from rye.items.location import locate

    absolute = path.resolve()
    location = locate(absolute) if ".ai" in absolute.parts else None
    return location.name if location is not None else absolute.parent.name or None


def _read(path: Path, shown: str, *, rejects: bool = False) -> str:
    """A file's text, its line endings and BOM intact. ``rejects``: text that cannot be decoded is a rejected overrides file."""
    from rye.customization.places import decode
    from rye.limits import OVERRIDES
    from rye.project.item_file import read_bytes

    data = read_bytes(path, OVERRIDES.merged_bytes)
    if len(data) > OVERRIDES.merged_bytes:
        raise RyeError("too-large", f"{shown!r} has more than {OVERRIDES.merged_bytes:,} bytes.", "Split it.")
    try:
        return decode(data, repr(shown))
    except RyeError as error:
        raise UsageError(error.code, error.message, error.hint) if rejects else error from None


def _write(path: Path, text: str) -> None:
    from rye.storage.atomic import replace_file

    if not path.parent.is_dir():
        raise RyeError("no-such-folder", f"There is no folder {str(path.parent)!r}.", "Make it first.")
    if path.exists() and not path.is_file():
        raise RyeError("not-a-file", f"{str(path)!r} is not a regular file.", "Name a file.")
    replace_file(path.resolve(), text.encode("utf-8"))


def _print(session: Session, text: str) -> None:
    from rye.cli.console import printable

    session.console.data(printable(text) if sys.stdout.isatty() else text, newline=False)


def report(session: Session, diagnostics: Iterable[Diagnostic], name: str) -> None:
    """Findings about an overrides file on stderr, as ``SEVERITY: …`` with the line where there is one."""
    from rye.cli.console import printable

    if session.json:
        return
    for finding in diagnostics:
        if session.quiet and finding.severity in ("notice", "info"):
            continue
        place = f" ({name}, line {finding.line})" if finding.line is not None and "\n" not in finding.message else ""
        click.echo(printable(f"{finding.severity.upper()}: {finding.message}{place}"), err=True)
        if finding.hint:
            click.echo(printable(f"  Hint: {finding.hint}"), err=True)


def explain_steps(session: Session, steps: Iterable[Step], base_name: str) -> None:
    """What each directive did and where, on stderr: it was asked for, so not even ``--quiet`` leaves it out."""
    from rye.cli.console import printable

    for step in steps:
        where = f" ({base_name}, line {step.base_line})" if step.base_line is not None else ""
        line = f"line {step.line}: {step.operation} {step.target}: {step.outcome}: {step.detail}{where}"
        click.echo(printable(line), err=True)
        click.echo(printable(f"  Reason: {step.reason}"), err=True)
