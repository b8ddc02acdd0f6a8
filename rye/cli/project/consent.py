"""The one screen before anything is written: what changes, who signed it, what it may do, and what needs a yes (DESIGN §7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rye.cli.console import Console, printable
from rye.installation.plan import ItemChange, Plan, by_tier
from rye.items.reading import HookAction
from rye.permissions.risk import tier
from rye.workspace.acceptance import Approval
from rye.workspace.install_request import Proposal

_VERBS = {
    "add": ("+", "added"),
    "update": ("^", "info"),
    "downgrade": ("v", "warning"),
    "replace": ("~", "warning"),
    "remove": ("-", "removed"),
    "keep": ("=", "dim"),
}
_TIER_STYLE = {"safe": "ok", "write": "info", "elevated": "warning", "unrestricted": "error"}


def one_line(text: str) -> str:
    """What an author wrote, whole, so that it cannot pass for a line of the screen."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def show_proposal(console: Console, proposal: Proposal) -> None:
    """Print what the lock approves and the user has not seen, the plan, and the warnings about what it installs."""
    show_unseen(console, proposal.unseen)
    show_plan(console, proposal.plan)
    for note in proposal.notes:
        console.warn(one_line(note))


_UNSEEN_TITLES = {
    "signer": "Keys that sign its items",
    "right": "Rights",
    "hook": "Hooks",
    "executable": "Files that can run",
    "tool": "Tools of the agent program",
}


def show_unseen(console: Console, unseen: Sequence[Approval]) -> None:
    """Print what rye.lock approves and this user has not agreed to: the team's record, which counts here after a yes."""
    if not unseen:
        return
    console.say("rye.lock of this project approves what you have not agreed to on this machine:", "strong")
    for what, title in _UNSEEN_TITLES.items():
        rows = [one for one in unseen if one.what == what]
        if rows:
            console.say(f"  {title}:")
        for one in rows:
            level = tier(one.value) if what == "right" else None
            style = _TIER_STYLE[str(level)] if level is not None else None
            console.say(f"    {one_line(one.value)}   {one.item}{f'   {level}' if level is not None else ''}", style)


def show_plan(console: Console, plan: Plan) -> None:
    """Print what will happen: items with signers, tools and executables, then all rights by tier, then hooks."""
    for change in plan.effective:
        _show_item(console, change)
        _show_signer(console, change)
        _show_tools(console, change)
        _show_executables(console, change)
    _show_rights(console, plan)
    _show_hooks(console, plan)


def _show_item(console: Console, change: ItemChange) -> None:
    sign, style = _VERBS[change.action]
    versions = list(dict.fromkeys(item.version for item in (change.old, change.new) if item is not None))
    console.say(f"  {sign} {change.identity} {' → '.join(versions)}", style)


def _show_signer(console: Console, change: ItemChange) -> None:
    """Whose key, and from another registry than before, which. An entry that ``rye lock`` wrote is news like any other."""
    old, new = change.old, change.new
    if new is None or (change.action == "keep" and old is not None and old.approved_signer is None):
        return
    if change.signer_before is not None:
        console.say(f"      signed by {new.signer}, before by {change.signer_before}", "warning")
    else:
        mark = "  (new to this project)" if change.signer_new else ""
        console.say(f"      signed by {new.signer}{mark}", "dim")
    if old is not None and old.registry != new.registry:
        moved = f"      from the registry {one_line(new.registry)}, before from {one_line(old.registry)}"
        console.say(moved, "warning")


def _show_tools(console: Console, change: ItemChange) -> None:
    """Tools of the agent program as agents and skills name them, never translated (DECISIONS Skills 3)."""
    if change.new is None or not change.new.agent_tools or (change.action == "keep" and not change.tools):
        return
    update = change.old is not None
    marked = [one_line(t) + (" (new)" if update and t in change.tools else "") for t in change.new.agent_tools]
    console.say(f"      tools of the agent program: {', '.join(marked)}")


def _show_executables(console: Console, change: ItemChange) -> None:
    """Attached executables that are new, or whose bytes changed."""
    before = change.old.attached if change.old is not None else None
    for entry in change.new.attached if change.new is not None else ():
        fresh = entry.path in change.executables
        if entry.executable and (fresh or before is None or entry not in before):
            mark = "" if before is None else " (new)" if fresh else " (changed)"
            console.say(f"      executable file {one_line(entry.path)}{mark}", "warning")


def _show_rights(console: Console, plan: Plan) -> None:
    asked = by_tier(plan.changes)
    if asked:
        console.say("Rights asked for:", "strong")
    for level, rows in asked.items():
        console.say(f"  {level}", _TIER_STYLE[str(level)])
        for change, right in rows:
            example = f"   e.g. {right.witness}" if right.witness and right.witness != right.pattern else ""
            beyond = " (beyond what was approved)" if change.old is not None else ""
            console.say(f"    {one_line(right.pattern)}{beyond}   {change.identity.id}{one_line(example)}")


def _show_hooks(console: Console, plan: Plan) -> None:
    hooks = [(change, hook) for change in plan.changes for hook in change.hooks]
    if hooks:
        console.say("Hooks, denied until approved:", "strong")
    for change, hook in hooks:
        show_hook(console, hook, f"    {change.identity.id}: ", "      ")


def show_hook(
    console: Console, hook: HookAction, before: str = "", indent: str = "  ", style: str | None = None
) -> None:
    """A hook's condition, exact action and inputs. ``before``: what its first line begins with."""
    console.say(f"{before}when {one_line(hook.when)}", style)
    console.say(f"{indent}execute {one_line(hook.item_type)} {one_line(hook.item_id)}")
    for name, text in hook.inputs:
        console.say(f"{indent}  {one_line(name)} = {one_line(text)}")


def question(proposal: Proposal) -> str:
    """What a person is asked below the screen."""
    plan = proposal.plan
    if not proposal.waiting:
        return "Agree to what rye.lock approves?"
    hooks = any(change.hooks for change in plan.changes)
    return f"Install this, with these rights{' and hooks' if hooks else ''}?"


def changed_counts(changes: Iterable[ItemChange]) -> str:
    """``added 2, removed 1``; empty where nothing changed."""
    names = {"add": "added", "update": "updated", "downgrade": "downgraded", "replace": "replaced", "remove": "removed"}
    actions = [change.action for change in changes]
    counts = {said: actions.count(action) for action, said in names.items()}  # type: ignore[arg-type]
    return ", ".join(f"{said} {count}" for said, count in counts.items() if count)
