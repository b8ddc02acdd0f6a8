"""``rye check``: run every check of a project, with one line per check and a summary."""

from __future__ import annotations

import click

from rye.cli.customize.checks import counts_of, show_check
from rye.cli.options import Session, command
from rye.customization.doctor import Check
from rye.deployment.auditing import audit_deployed
from rye.errors import RyeError
from rye.project.context import require_project
from rye.project.layout import Project
from rye.workspace.customizing.health import customizations, machine, registry
from rye.workspace.customizing.layouts import customization_places
from rye.workspace.installing.auditing import audit
from rye.workspace.project_checks import audited, check_own_items, deployed


@command("check")
@click.pass_obj
def check(session: Session) -> int:
    """Check everything: your items, their signatures, what is installed and deployed, your customizations, and this machine.

    Runs the checks of `rye validate`, `verify`, `audit`, `override check`, `deploy --check` and `doctor`, and writes nothing.
    Exits 1 on errors, not on warnings. With --offline, the registry's last known state is used.
    """
    project = require_project(session.cwd)
    checks = (
        *check_own_items(session),
        *_installed(session, project),
        *customizations(session, customization_places(session, "rye", None, None)),
        *machine(session.home),
        *registry(session),
    )
    errors = sum(each.status == "error" for each in checks)
    if session.json:
        session.console.document({"checks": [each.as_json() for each in checks], "ok": not errors})
        return 1 if errors else 0
    for each in checks:
        show_check(session, each)
    session.console.data(session.console.style(counts_of(checks), "removed" if errors else "ok"))
    return 1 if errors else 0


def _installed(session: Session, project: Project) -> tuple[Check, Check]:
    """``rye audit``'s findings about installed items, and its and ``rye deploy --check``'s findings about deployed files."""
    try:
        installed = audited(audit(session, project))
    except RyeError as error:
        installed = Check("audit", "error", error.message, hint=error.hint)
    return installed, deployed(audit_deployed(session, project))
