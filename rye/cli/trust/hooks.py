"""``rye hooks``: the actions that a directive triggers, and when."""

from __future__ import annotations

import json
from typing import Any

import click

from rye.cli.console import one_line
from rye.cli.json_argument import read_object
from rye.cli.main import family
from rye.cli.options import Session, command
from rye.cli.use.findings import show_findings
from rye.workspace.findings import as_json
from rye.workspace.items.hooks import HookedDirective, hooked_directive


def _read(session: Session, argument: str) -> HookedDirective:
    found = hooked_directive(session, argument)
    show_findings(session, found.findings)
    return found


def _findings(found: HookedDirective) -> list[dict[str, object]]:
    return as_json(found.item.own_findings())


@command("list")
@click.argument("target", metavar="FILE|ID")
@click.pass_obj
def list_hooks(session: Session, target: str) -> None:
    """Show a directive's hooks: condition, exact action, and whether the directive's own rights cover it."""
    found = _read(session, target)
    rows: list[dict[str, Any]] = [
        {
            "when": one.hook.when,
            "item_type": one.hook.item_type,
            "item_id": one.hook.item_id,
            "inputs": dict(one.hook.inputs),
            "required": one.decision.required if one.decision else None,
            "allowed": bool(one.decision and one.decision.allowed),
            "approved": one.approved,
            "path": one.place[0],
            "line": one.place[1],
        }
        for one in found.hooks()
    ]
    if session.json:
        session.console.document({"id": found.item.id, "hooks": rows, "diagnostics": _findings(found)})
        return
    if not rows:
        session.console.say("It has no hooks.")
    for row in rows:
        state = {None: "", True: ", approved", False: ", not approved: denied"}[row["approved"]]
        covered = "covered by its rights" if row["allowed"] else "not covered by its rights: denied"
        session.console.line(one_line(f"when {row['when']}"))
        denied = "removed" if not row["allowed"] or row["approved"] is False else "ok"
        said = (f" ({covered}{state})", denied)
        session.console.line(one_line(f"  execute {row['item_type']} {row['item_id']}"), said, hang=6)
        for name, text in row["inputs"].items():
            session.console.line(one_line(f"    {name} = {text}"), hang=8)


@command("eval")
@click.argument("target", metavar="FILE|ID")
@click.option("--context", "context_file", required=True, metavar="FILE", help="A JSON object: cost, error, …")
@click.pass_obj
def evaluate(session: Session, target: str, context_file: str) -> None:
    """Show which hooks would fire for a context, and with which inputs. Executes nothing."""
    found = _read(session, target)
    context = read_object(session, context_file, "context", 'Write e.g. {"cost": {"current": 9}}.')
    result = found.evaluate(context)
    if session.json:
        session.console.document({**result.as_json(), "diagnostics": _findings(found)})
        return
    for action in result.actions:
        covered = "" if action.allowed else "   (denied: the directive's rights do not cover it)"
        inputs = json.dumps(dict(action.inputs))
        session.console.data(one_line(f"execute {action.item_type} {action.item_id} {inputs}{covered}"))
    for skipped in result.skipped:
        session.console.say(f"skipped {skipped.hook.item_type} {skipped.hook.item_id}: {skipped.reason}", "dim")


hooks = family(
    "hooks",
    "Show and approve the actions that directives trigger.",
    {
        "list": ("rye.cli.trust.hooks:list_hooks", "Show a directive's hooks with their exact action."),
        "approve": ("rye.cli.trust.hooks_approve:approve", "Approve the hooks of an installed item."),
        "eval": ("rye.cli.trust.hooks:evaluate", "Show which hooks would fire for a context."),
    },
)
