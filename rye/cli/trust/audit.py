"""``rye audit``: check what is installed. Exit 1 on findings at the given level or worse."""

from __future__ import annotations

from collections import Counter

import click

from rye.cli.console import counted, one_line
from rye.cli.options import Session, command
from rye.cli.project.installing import install_options
from rye.deployment.auditing import audit_deployed
from rye.errors import UsageError
from rye.installation.audit.choice import LEVELS, Level, fails
from rye.project.context import require_project
from rye.workspace.installing.auditing import Audit
from rye.workspace.installing.auditing import audit as audit_project


@command("audit")
@click.option("--sarif", "as_sarif", is_flag=True, help="Print SARIF 2.1.0, which code hosts read.")
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    default="error",
    show_default=True,
    help="Exit 1 on findings of this level or worse; all are shown.",
)
@install_options("without")
@click.pass_obj
def audit(session: Session, as_sarif: bool, level: Level, without: tuple[str, ...]) -> int:
    """Check what is installed: changed files, unapproved rights and hooks, and news from the registry.

    News from the registry: yanked or deprecated releases, advisories, revoked keys, pending changes of a namespace's keys,
    releases that the policy now refuses, and a rye.lock that differs from them. With --offline, uses the last known head.
    A registry that does not answer is an error: what it says now is unknown.

    With a policy of witnesses, also says who cosigned the head that was used, and when.

    Deployed files are compared as well. Hooks and servers in agents' settings that no deployed item explains are listed as info.

    [audit] ignore in rye.toml ignores findings, each until a date and for a reason. They are still listed.
    """
    if as_sarif and session.json:
        raise UsageError("contradiction", "--sarif and --json cannot be combined.", "Give one of them.")
    project = require_project(session.cwd)
    found = audit_project(session, project, frozenset(without)).joined(audit_deployed(session, project))
    failed = fails(found.findings, level)
    if as_sarif:
        session.console.document(found.as_sarif())
    elif session.json:
        session.console.document(
            {
                "findings": [finding.as_json() for finding in found.findings],
                "ignored": [each.as_json() for each in found.ignored],
                "items": found.items,
                "level": level,
                "ok": not failed,
                **_heads_member(found),
            }
        )
    else:
        _show(session, found)
    return 1 if failed else 0


def _heads_member(found: Audit) -> dict[str, object]:
    rows = [
        {"registry": head.registry, "size": head.size, "cosigned_by": list(head.cosigned_by)} for head in found.heads
    ]
    return {"heads": rows} if rows else {}


def _show(session: Session, found: Audit) -> None:
    for finding in found.findings:
        head = (f"{finding.severity}[{finding.rule}]:", finding.severity)
        unsigned = finding.item.how_signed if finding.rule == "unsigned" and finding.item is not None else None
        before, found_it, after = one_line(finding.message).partition(unsigned or "\0")
        session.console.line(head, f" {before}", (found_it, "removed"), after)
        if finding.hint:
            session.console.tell((f"  {finding.hint}", "dim"), hang=4)
    for each in found.ignored:
        what = f"{each.finding.rule}]: {one_line(each.finding.message)}"
        session.console.say(f"ignored[{what}", "dim")
        session.console.say(f"  until {each.ignored.until}: {one_line(each.ignored.reason)}", "dim")
    for trusted in found.heads:
        by = ", ".join(trusted.cosigned_by) or "no witness, as your policy allows"
        session.console.say(
            f"head of {trusted.registry}, {counted(trusted.size, 'entry', 'entries')}: cosigned by {one_line(by)}",
            "dim",
        )
    if not fails(found.findings, "warning"):
        not_signed = len({finding.path for finding in found.findings if finding.rule == "unsigned"})
        if not_signed:
            how_many = f"{not_signed} of them not signed" if found.items > 1 else "not signed"
            said = f"{how_many}; no errors, no warnings"
        else:
            said = "all in order" if found.findings else "no findings"
        session.console.data(f"{counted(found.items, 'item')}, {said}")
        return
    severities = Counter(finding.severity for finding in found.findings)
    counts = [counted(severities[each], each) for each in ("error", "warning") if severities[each]]
    session.console.gap()
    session.console.say(f"{counted(found.items, 'item')}: {', '.join(counts)}")
