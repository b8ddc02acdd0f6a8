"""``rye audit``: what is wrong with what is installed. Exit 1 on findings."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.cli.project.consent import one_line
from rye.deployment.auditing import audit_deployed
from rye.errors import UsageError
from rye.installation.audit import in_order
from rye.installation.sarif import sarif
from rye.project.context import require_project
from rye.workspace.installing.auditing import audit as audit_project


@command("audit")
@click.option("--sarif", "as_sarif", is_flag=True, help="Print SARIF 2.1.0, as code hosts read it.")
@click.pass_obj
def audit(session: Session, as_sarif: bool) -> int:
    """Check what is installed: changed files, unapproved rights and hooks, and what the registry says by now.

    That is yanked or deprecated releases, advisories, revoked keys, namespaces that are about to get other keys, releases that
    the policy refuses by now, and a rye.lock that departs from them. With --offline, as the last known head has it.

    Deployed files are compared, too. Hooks and servers in agents' settings that no deployed item explains are listed; they
    fail nothing.
    """
    if as_sarif and session.json:
        raise UsageError("contradiction", "--sarif and --json are two formats.", "Give one of them.")
    project = require_project(session.cwd)
    found = audit_project(session, project)
    findings = in_order([*found.findings, *audit_deployed(session, project)])
    wrong = [finding for finding in findings if finding.severity != "info"]
    if as_sarif:
        session.console.document(sarif(findings, found.mentioned))
    elif session.json:
        session.console.document({"findings": [f.as_json() for f in findings], "items": found.items, "ok": not wrong})
    else:
        for finding in findings:
            session.console.data(f"{finding.severity}[{finding.rule}]: {one_line(finding.message)}")
            if finding.hint:
                session.console.say(f"  {finding.hint}", "dim")
        if not wrong:
            session.console.data(
                f"{found.items} items, no findings" if not findings else f"{found.items} items, all in order"
            )
    return 1 if wrong else 0
