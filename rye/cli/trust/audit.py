"""``rye audit``: what is wrong with what is installed. Exit 1 on findings."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.cli.project.installing import Run, Told
from rye.errors import RyeError, UsageError
from rye.project.context import require_project


@command("audit")
@click.option("--sarif", "as_sarif", is_flag=True, help="Print SARIF 2.1.0, as code hosts read it.")
@click.pass_obj
def audit(session: Session, as_sarif: bool) -> int:
    """Check what is installed: changed files, unapproved rights and hooks, and what the registry says by now.

    That is yanked or deprecated releases, advisories, revoked keys, namespaces that are about to get other keys, releases that
    the policy refuses by now, and a rye.lock that departs from them. With --offline, as the last known head has it.
    """
    from rye.installation.audit import (
        audit_disk,
        audit_lock,
        audit_origin,
        audit_recoveries,
        audit_registry,
        in_order,
    )
    from rye.installation.on_disk import scan
    from rye.installation.sarif import sarif

    if as_sarif and session.json:
        raise UsageError("contradiction", "--sarif and --json are two formats.", "Give one of them.")
    run = Run(session, require_project(session.cwd), Told("rye audit"))
    items, environment = run.lock.items, run.environment()
    findings = [*audit_disk(items, scan(run.project)), *audit_lock(items, environment.policy)]
    if items:
        try:
            with run.sources() as sources, session.console.progress("asking the registries"):
                foreign = audit_origin(items, sources)
                findings.extend(foreign)
                # Another registry's word on an item says nothing of the release that is locked.
                elsewhere = {finding.item for finding in foreign}
                asked = [item for item in items if item not in elsewhere]
                histories = sources.histories(item.identity for item in asked)
                findings.extend(audit_registry(asked, histories, environment))
                findings.extend(audit_recoveries(sources.pending_recoveries(item.identity.namespace for item in items)))
        except RyeError as error:
            # What was found on disk must not be lost because a registry cannot be asked.
            for finding in in_order(findings):
                session.console.warn(finding.message)
            error.details.setdefault("findings", [finding.as_json() for finding in in_order(findings)])
            raise
    found = in_order(findings)
    if as_sarif:
        session.console.document(sarif(found))
    elif session.json:
        session.console.document({"findings": [f.as_json() for f in found], "items": len(items), "ok": not found})
    else:
        for finding in found:
            session.console.data(f"{finding.severity}[{finding.rule}]: {_shown(finding.message)}")
            if finding.hint:
                session.console.say(f"  {finding.hint}", "dim")
        if not found:
            session.console.data(f"{len(items)} items, no findings")
    return 1 if found else 0


def _shown(text: str) -> str:
    from rye.cli.project.consent import one_line

    return one_line(text)
