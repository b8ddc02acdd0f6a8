"""``rye permissions``: what an item may do, whether an action is allowed, and what a new version would add."""

from __future__ import annotations

import click

from rye.cli.console import TIER_STYLE, one_line
from rye.cli.main import family
from rye.cli.options import Session, command
from rye.cli.project.consent_screen import run_line
from rye.cli.use.findings import show_findings
from rye.consent.sorts import run_document
from rye.describing.right_words import right_words, tool_words
from rye.items.agent_tools import shown
from rye.layout import Cell, Column
from rye.permissions.risk import tool_tier
from rye.workspace.findings import as_json
from rye.workspace.items.rights import Rights, compare_rights, decide_action, rights_of


def _said(session: Session, *items: Rights) -> list[dict[str, object]]:
    """Show the findings about these items, and return them for ``--json``."""
    for item in items:
        show_findings(session, (*item.findings, *item.diagnostics))
    return as_json(found for item in items for found in item.diagnostics)


@command("show")
@click.argument("target", metavar="FILE|ID")
@click.pass_obj
def show(session: Session, target: str) -> None:
    """List what an item may do: capabilities by risk tier, tools of the agent program, and what can run.

    For an installed item this is what you agreed to on this machine; what you did not agree to is listed separately.
    """
    rights = rights_of(session, target)
    findings, tools = _said(session, rights), rights.agent_tools
    if session.json:
        session.console.document(
            {
                "id": rights.id,
                "capabilities": [{"capability": c, "tier": str(t), "words": right_words(c)} for t, c in rights.rows],
                "highest": str(rights.highest) if rights.highest is not None else None,
                "agent_tools": list(tools.names) if tools else [],
                "agent_limits": list(tools.limits) if tools else [],
                "agent_tier": str(rights.tools_tier) if rights.tools_tier is not None else None,
                "runs": [run_document(run) for run in rights.runs],
                "not_agreed": [{"what": one.sort, "value": one.text} for one in rights.missing],
                "diagnostics": findings,
            }
        )
        return
    rows: list[list[Cell]] = []
    if rights.refusal is not None:
        session.console.warn(rights.refusal.message, rights.refusal.hint)
        rows.extend([("not agreed", "removed"), f"{one.sort} {one_line(one.text)}", ""] for one in rights.missing)
    elif rights.does_nothing:
        session.console.say("It declares no capabilities: every action is denied.")
    elif not rights.rows:
        session.console.say("It declares no rye capabilities. Rye does not control the following:")
    for level, capability in rights.rows:
        rows.append([(str(level), TIER_STYLE[str(level)]), one_line(capability), right_words(capability)])
    if tools is not None:
        for name in tools.names:
            level = tool_tier(name, tools)
            rows.append([(str(level), TIER_STYLE[str(level)]), f"agent tool {one_line(name)}", tool_words(name, tools)])
        rows.extend(["limit", one_line(line), ""] for line in shown(tools)[len(tools.names) :])
    rows.extend([("runs", "warning"), run_line(run), ""] for run in rights.runs)
    columns = (Column(name, prose=True, lines=99) for name in ("RIGHT", "ALLOWS"))
    session.console.table(rows, ["TIER", *columns])


@command("check")
@click.argument("target", metavar="FILE|ID")
@click.argument("primary", metavar="PRIMARY")
@click.argument("item_type", metavar="TYPE")
@click.argument("item_id", metavar="[ID]", required=False)
@click.option(
    "--parent", "parents", multiple=True, metavar="FILE|ID", help="A caller of the item, root first; repeatable."
)
@click.pass_obj
def check(
    session: Session,
    target: str,
    primary: str,
    item_type: str,
    item_id: str | None,
    parents: tuple[str, ...],
) -> int:
    """Check whether an item may do an action. --parent names the items that call it.

    PRIMARY is execute, search, load or sign; TYPE is tool, directive or knowledge. Every level of the chain must allow it. For
    an installed item, what you agreed to on this machine counts.
    """
    found = decide_action(session, (*parents, target), primary, item_type, item_id)
    decision, findings = found.decision, _said(session, *found.callers)
    if session.json:
        session.console.document({**found.as_json(), "diagnostics": findings})
    elif decision.allowed:
        session.console.data(f"{session.console.style('allowed', 'ok')} {decision.required} by {decision.by}")
    else:
        session.console.data(f"{session.console.style('denied', 'removed')} {decision.required}")
        for name, level in zip((*parents, target), decision.levels, strict=True):
            session.console.say(f"  {name}: {'allows it by ' + level if level else 'does not allow it'}", "dim")
        if found.reason is not None:
            session.console.warn(found.reason)
    return 0 if decision.allowed else 1


@command("diff")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.pass_obj
def diff(session: Session, old: str, new: str) -> int:
    """Compare what two versions of an item may do; exit 1 if NEW may do anything that OLD may not."""
    found, items = compare_rights(session, old, new)
    findings = _said(session, *items)
    if session.json:
        session.console.document(
            {
                "widened": [change.pattern for change in found.widened],
                "narrowed": [change.pattern for change in found.narrowed],
                "equal": found.equal,
                "witnesses": {change.pattern: change.witness for change in (*found.widened, *found.narrowed)},
                "diagnostics": findings,
            }
        )
    else:
        for sign, style, changes in (("+", "added", found.widened), ("-", "removed", found.narrowed)):
            for change in changes:
                example = f"   e.g. {change.witness}" if change.witness and change.witness != change.pattern else ""
                session.console.line((f"{sign} {change.pattern}", style), (example, "dim"))
        if found.equal:
            session.console.data("equal: both allow exactly the same actions")
    return 1 if found.widened else 0


permissions = family(
    "permissions",
    "Show what items may do.",
    {
        "show": ("rye.cli.trust.permissions:show", "List an item's capabilities by risk tier."),
        "check": ("rye.cli.trust.permissions:check", "Check whether an action is allowed."),
        "diff": ("rye.cli.trust.permissions:diff", "Show what a new version may do beyond the old one."),
    },
)
