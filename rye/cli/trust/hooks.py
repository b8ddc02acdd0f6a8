"""``rye hooks``: what a directive would have executed, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rye.cli.console import printable
from rye.cli.main import family
from rye.cli.options import Session, command
from rye.cli.use.findings import show_findings
from rye.errors import UsageError
from rye.items.reading import HookAction
from rye.workspace.findings import as_json
from rye.workspace.installing.hook_approval import approved_hooks
from rye.workspace.items.effective_item import EffectiveItem, effective_item

if TYPE_CHECKING:
    from rye.items.directive.model import Directive, Hook


def _read(session: Session, argument: str) -> tuple[EffectiveItem, Directive]:
    from rye.items.directive.model import Directive

    target = effective_item(session, argument)
    show_findings(session, target.findings)
    value = target.parsed()
    if not isinstance(value, Directive):
        raise UsageError("no-hooks", f"A {target.item.kind.name} has no hooks.", "Only directives have hooks.")
    show_findings(session, target.own_findings())
    return target, value


def _findings(target: EffectiveItem) -> list[dict[str, object]]:
    return as_json(target.own_findings())


@command("list")
@click.argument("target", metavar="FILE|ID")
@click.pass_obj
def list_hooks(session: Session, target: str) -> None:
    """Show a directive's hooks: condition, exact action, and whether the directive's own rights cover it."""
    from rye.rendering.hooks import permission

    found, directive = _read(session, target)
    capabilities = [permission_.capability for permission_ in directive.permissions]
    approved = approved_hooks(session, found)
    rows: list[dict[str, Any]] = []
    for hook in directive.hooks:
        decision = permission(hook, capabilities)
        rows.append(
            {
                "when": hook.when,
                "item_type": hook.item_type,
                "item_id": hook.item_id,
                "inputs": dict(hook.inputs),
                "required": decision.required if decision else None,
                "allowed": bool(decision and decision.allowed),
                "approved": None if approved is None else _action(hook) in approved,
                "path": found.place(hook.line)[0],
                "line": found.place(hook.line)[1],
            }
        )
    if session.json:
        session.console.document({"id": found.id, "hooks": rows, "diagnostics": _findings(found)})
        return
    if not rows:
        session.console.say("It has no hooks.")
    for row in rows:
        state = {None: "", True: ", approved", False: ", not approved: denied"}[row["approved"]]
        covered = "covered by its rights" if row["allowed"] else "not covered by its rights: denied"
        session.console.data(printable(f"when {row['when']}"))
        session.console.data(printable(f"  execute {row['item_type']} {row['item_id']} ({covered}{state})"))
        for name, text in row["inputs"].items():
            session.console.data(printable(f"    {name} = {text}"))


def _action(hook: Hook) -> HookAction:
    return HookAction(hook.when, hook.item_type, hook.item_id, hook.inputs)


@command("eval")
@click.argument("target", metavar="FILE|ID")
@click.option("--context", "context_file", required=True, metavar="FILE", help="A JSON object: cost, error, …")
@click.pass_obj
def evaluate(session: Session, target: str, context_file: str) -> None:
    """Say which hooks would fire for a context, and with which inputs. Executes nothing."""
    import json

    from rye.cli.json_argument import read_object
    from rye.rendering.hooks import evaluate_hooks

    found, directive = _read(session, target)
    context = read_object(session, context_file, "bad-context", 'Write e.g. {"cost": {"current": 9}}.')
    capabilities = [permission.capability for permission in directive.permissions]
    approved = approved_hooks(session, found)
    result = evaluate_hooks(
        directive.hooks, context, capabilities, lambda hook: approved is None or _action(hook) in approved
    )
    if session.json:
        session.console.document({**result.as_json(), "diagnostics": _findings(found)})
        return
    for action in result.actions:
        covered = "" if action.allowed else "   (denied: the directive's rights do not cover it)"
        inputs = json.dumps(dict(action.inputs))
        session.console.data(printable(f"execute {action.item_type} {action.item_id} {inputs}{covered}"))
    for skipped in result.skipped:
        session.console.say(f"skipped {skipped.hook.item_type} {skipped.hook.item_id}: {skipped.reason}", "dim")


hooks = family(
    "hooks",
    "What directives would have executed, and when.",
    {
        "list": ("rye.cli.trust.hooks:list_hooks", "Show a directive's hooks with their exact action."),
        "approve": ("rye.cli.trust.hooks_approve:approve", "Approve the hooks of an installed item."),
        "eval": ("rye.cli.trust.hooks:evaluate", "Say which hooks would fire for a context."),
    },
)
