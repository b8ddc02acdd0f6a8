"""``rye permissions``: what an item may do, whether an action is allowed, and what a change of version would add."""

from __future__ import annotations

import click

from rye.cli.console import printable
from rye.cli.effective import effective_target
from rye.cli.main import family
from rye.cli.options import Session, command
from rye.project.target import Target, require_parsed
from rye.text.diagnostics import to_mend

_STYLE = {"safe": "ok", "write": "info", "elevated": "warning", "unrestricted": "removed"}


def _read(session: Session, argument: str) -> Target:
    """The item with its overrides; one that does not parse is refused, other findings are warnings (DECISIONS Directives 13)."""
    target = effective_target(session, argument)
    require_parsed(target.item)
    session.console.diagnostics(target.item.shown, to_mend(target.item.reading.diagnostics))
    return target


def _findings(*targets: Target) -> list[dict[str, object]]:
    return [finding.as_json() for target in targets for finding in to_mend(target.item.reading.diagnostics)]


def capabilities_of(target: Target) -> tuple[str, ...]:
    metadata = target.item.reading.metadata
    return metadata.capabilities if metadata else ()


@command("show")
@click.argument("target", metavar="FILE|ID")
@click.pass_obj
def show(session: Session, target: str) -> None:
    """List an item's capabilities by risk tier, the worst first."""
    from rye.permissions.risk import tier

    found = _read(session, target)
    rows = sorted(((tier(c), c) for c in capabilities_of(found)), key=lambda row: (-row[0], row[1]))
    metadata = found.item.reading.metadata
    if session.json:
        session.console.document(
            {
                "id": found.id,
                "capabilities": [{"capability": c, "tier": str(t)} for t, c in rows],
                "highest": str(rows[0][0]) if rows else None,
                "agent_tools": list(metadata.agent_tools) if metadata else [],
                "diagnostics": _findings(found),
            }
        )
        return
    if not rows:
        session.console.say("It declares no capabilities: every action is denied.")
    for level, capability in rows:
        session.console.data(f"{session.console.style(str(level), _STYLE[str(level)])}\t{printable(capability)}")
    for tool in metadata.agent_tools if metadata else ():
        session.console.data(printable(f"agent tool\t{tool}"))


@command("check")
@click.argument("target", metavar="FILE|ID")
@click.argument("primary", metavar="PRIMARY")
@click.argument("item_type", metavar="TYPE")
@click.argument("item_id", metavar="[ID]", required=False)
@click.option("--parent", "parents", multiple=True, metavar="FILE|ID", help="A caller above it, the root first.")
@click.pass_obj
def check(
    session: Session, target: str, primary: str, item_type: str, item_id: str | None, parents: tuple[str, ...]
) -> int:
    """Decide whether an item may do one action; with --parent, called by these items.

    PRIMARY is execute, search, load or sign; TYPE is tool, directive or knowledge. Every level of the chain must allow it.
    """
    from rye.permissions.matching import check as decide

    chain = [_read(session, name) for name in (*parents, target)]
    decision = decide([capabilities_of(caller) for caller in chain], primary, item_type, item_id)
    if session.json:
        session.console.document({**decision.as_json(), "diagnostics": _findings(*chain)})
    elif decision.allowed:
        session.console.data(f"{session.console.style('allowed', 'ok')} {decision.required} by {decision.by}")
    else:
        session.console.data(f"{session.console.style('denied', 'removed')} {decision.required}")
        for name, level in zip((*parents, target), decision.levels, strict=True):
            session.console.say(f"  {name}: {'allows it by ' + level if level else 'does not allow it'}", "dim")
    return 0 if decision.allowed else 1


@command("diff")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.pass_obj
def diff(session: Session, old: str, new: str) -> int:
    """Compare what two versions of an item may do; exit 1 when NEW may do anything that OLD may not."""
    from rye.permissions.containment import diff as compare

    before, after = _read(session, old), _read(session, new)
    found = compare(capabilities_of(before), capabilities_of(after))
    if session.json:
        session.console.document(
            {
                "widened": [change.pattern for change in found.widened],
                "narrowed": [change.pattern for change in found.narrowed],
                "equal": found.equal,
                "witnesses": {change.pattern: change.witness for change in (*found.widened, *found.narrowed)},
                "diagnostics": _findings(before, after),
            }
        )
    else:
        for sign, style, changes in (("+", "added", found.widened), ("-", "removed", found.narrowed)):
            for change in changes:
                example = f"   e.g. {change.witness}" if change.witness and change.witness != change.pattern else ""
                session.console.data(session.console.style(f"{sign} {change.pattern}", style) + example)
        if found.equal:
            session.console.data("equal: both allow exactly the same actions")
    return 1 if found.widened else 0


permissions = family(
    "permissions",
    "What items may do.",
    {
        "show": ("rye.cli.trust.permissions:show", "List an item's capabilities by risk tier."),
        "check": ("rye.cli.trust.permissions:check", "Decide whether an action is allowed."),
        "diff": ("rye.cli.trust.permissions:diff", "What a new version may do beyond the old."),
    },
)
