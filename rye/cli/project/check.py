"""``rye check``: run every check of a project, or some, with one line per check and a summary."""

from __future__ import annotations

import click

from rye.cli.customize.checks import counts_of, show_checks
from rye.cli.options import Session, command
from rye.deployment.auditing import audit_deployed
from rye.project.context import require_project
from rye.workspace.customizing.layouts import customization_places
from rye.workspace.project_checks import CheckRun, named_checks, run_checks


@command("check")
@click.option("--only", multiple=True, metavar="CHECK,…", help="Run only these checks; repeatable.")
@click.pass_obj
def check(session: Session, only: tuple[str, ...]) -> int:
    """Check everything: your items, their signatures, what is installed and deployed, your customizations, and this machine.

    Runs the checks of `rye validate`, `verify`, `audit`, `deploy --check`, `overlay check`, `override check` and `doctor`, and
    writes nothing. Exits 1 on errors, not on warnings. With --offline, the registry's last known state is used.

    --only takes the names of checks as the answer shows them, and these commands' names: `--only verify,doctor`.
    """
    wanted = named_checks(only)
    project = require_project(session.cwd)
    where = customization_places(session, "rye", None, None)
    checks = list(run_checks(CheckRun(session, where, lambda: audit_deployed(session, project)), wanted))
    errors = sum(each.status == "error" for each in checks)
    if session.json:
        session.console.document({"checks": [each.as_json() for each in checks], "ok": not errors})
        return 1 if errors else 0
    show_checks(session, checks)
    session.console.data(session.console.style(counts_of(checks), "removed" if errors else "ok"))
    return 1 if errors else 0
