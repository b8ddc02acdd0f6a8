"""``rye doctor``: check the setup and the customizations, one line per check; ``--fix`` removes stale entries."""

from __future__ import annotations

import click

from rye.cli.console import printable
from rye.cli.customize.checks import counts_of, show_checks
from rye.cli.customize.layouts import layout_options, places
from rye.cli.options import Session, command
from rye.errors import RyeError
from rye.workspace.customizing.health import Fixed, fix_overlays
from rye.workspace.project_checks import DOCTOR, CheckRun, run_checks


@command("doctor")
@click.option("--fix", is_flag=True, help="Remove stale entries from overlays. The old files are kept as .bak.")
@layout_options
@click.pass_obj
def doctor(session: Session, fix: bool, layout: str, town: str | None, rig: str | None) -> int:
    """Check the setup and the health of customizations. Exits 1 on errors, not on warnings.

    The same as `rye check --only doctor`, which needs a project.
    """
    where = places(session, layout, town, rig)
    fixed: list[Fixed] = []
    problems: list[RyeError] = []
    if fix:
        fixed, problems = fix_overlays(session, where)
    checks = list(run_checks(CheckRun(session, where), DOCTOR))
    failed = bool(problems) or any(check.status == "error" for check in checks)
    if session.json:
        session.console.document(
            {
                "checks": [check.as_json() for check in checks],
                "fixed": [each.as_json() for each in fixed],
                "problems": [problem.as_json()["error"] for problem in problems],
                "ok": not failed,
            }
        )
        return 1 if failed else 0
    for each in fixed:
        what = "removed" if each.deleted else "fixed"
        names = ", ".join(repr(name) for name in each.removed)
        session.console.data(printable(f"{what} {each.shown}: removed {names}; the old file is {each.backup}"))
    for problem in problems:
        session.console.error(problem)
    show_checks(session, checks)
    session.console.say(counts_of(checks))
    return 1 if failed else 0
