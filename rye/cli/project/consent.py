"""The one screen before anything is written: what changes, who signed it, what it may do, and what needs a yes (DESIGN §7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rye.cli.console import printable
from rye.errors import RyeError
from rye.installation.plan import Consent, ItemChange, Plan, refused

if TYPE_CHECKING:
    from rye.cli.options import Session

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


def show_plan(session: Session, plan: Plan, notes: Sequence[str] = ()) -> None:
    """Print what will happen: items, signers, rights by tier, hooks with their exact action, attached executables.

    Tools of the agent program are shown as agents and skills name them, never translated (DECISIONS Skills 3).
    """
    from rye.installation.plan import by_tier

    console = session.console
    for change in plan.effective:
        sign, style = _VERBS[change.action]
        versions = " → ".join(item.version for item in (change.old, change.new) if item is not None)
        if change.old is not None and change.new is not None and change.old.version == change.new.version:
            versions = change.new.version
        console.say(f"  {sign} {change.identity} {versions}", style)
        _show_signer(session, change)
        if change.new is not None and change.new.agent_tools and (change.action != "keep" or change.tools):
            marked = [
                one_line(t) + (" (new)" if change.old and t in change.tools else "") for t in change.new.agent_tools
            ]
            console.say(f"      tools of the agent program: {', '.join(marked)}")
        for entry in change.new.attached if change.new is not None else ():
            fresh = entry.path in change.executables
            if entry.executable and (fresh or change.old is None or entry not in change.old.attached):
                console.say(f"      executable file {one_line(entry.path)}{_mark(change, fresh)}", "warning")
    asked = by_tier(plan.changes)
    if asked:
        console.say("Rights asked for:", "strong")
        for tier, rows in asked.items():
            console.say(f"  {tier}", _TIER_STYLE[str(tier)])
            for change, right in rows:
                example = f"   e.g. {right.witness}" if right.witness and right.witness != right.pattern else ""
                beyond = " (beyond what was approved)" if change.old is not None else ""
                console.say(f"    {one_line(right.pattern)}{beyond}   {change.identity.id}{one_line(example)}")
    hooks = [(change, hook) for change in plan.changes for hook in change.hooks]
    if hooks:
        console.say("Hooks, denied until approved:", "strong")
        for change, hook in hooks:
            console.say(f"    {change.identity.id}: when {one_line(hook.when)}")
            console.say(f"      execute {one_line(hook.item_type)} {one_line(hook.item_id)}")
            for name, text in hook.inputs:
                console.say(f"        {one_line(name)} = {one_line(text)}")
    for note in notes:
        console.warn(one_line(note))


def _mark(change: ItemChange, fresh: bool) -> str:
    if change.old is None:
        return ""
    return " (new)" if fresh else " (changed)"


def _show_signer(session: Session, change: ItemChange) -> None:
    """Whose key, and from another registry than before, which. An entry that ``rye lock`` wrote is news like any other."""
    if change.new is None or (
        change.action == "keep" and change.old is not None and change.old.approved_signer is None
    ):
        return
    before = _signer_before(change)
    if before is not None:
        session.console.say(f"      signed by {change.new.signer}, before by {before}", "warning")
    else:
        mark = "  (new to this project)" if change.signer_new else ""
        session.console.say(f"      signed by {change.new.signer}{mark}", "dim")
    if change.old is not None and change.old.registry != change.new.registry:
        moved = f"      from the registry {one_line(change.new.registry)}, before from {one_line(change.old.registry)}"
        session.console.say(moved, "warning")


def _signer_before(change: ItemChange) -> str | None:
    """Who signed what was approved, where that was somebody else."""
    if not change.signer_changed or change.old is None:
        return None
    return change.old.approved_signer or change.old.signer


def get_consent(session: Session, plan: Plan, approved: Sequence[str], retry: str) -> Consent:
    """Who agrees to the plan: a person who is asked, ``--yes``, or ``--approve`` by name.

    ``retry``: the command that was run, for the hint. Raises RyeError ``consent-needed`` or ``declined``.
    """
    consent = Consent(yes=session.yes, approved=frozenset(_label(plan, name) for name in approved))
    open_ = refused(plan, consent)
    if not open_:
        return consent
    if session.interactive:
        if not session.console.confirm(_question(plan)):
            raise RyeError("declined", "Nothing was changed.")
        return Consent(person=True)
    stopping = [change for change in open_ if change.stops]
    why = "; ".join(f"{change.label} {_why(change)}" for change in stopping or open_)
    if stopping:
        named = [*sorted(consent.approved), *(change.label for change in stopping)]
        plain = "--yes " if session.yes or len(open_) > len(stopping) else ""
        arguments = " ".join(f"--approve {label}" for label in named)
        hint = f"Read what changed, then approve it by name: {retry} {plain}{arguments}"
    else:
        hint = f"`{retry} --yes` agrees to what is shown; on a terminal you are asked."
    raise RyeError(
        "consent-needed",
        f"Nobody agreed to this yet, so nothing was changed: {why}.",
        hint,
        details={"changes": [change_json(change) for change in open_]},
    )


def _label(plan: Plan, name: str) -> str:
    """The one change that ``--approve`` names."""
    from rye.errors import UsageError
    from rye.installation.plan import labels_named

    found = labels_named(plan, name)
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError("ambiguous", f"--approve {name} is {', '.join(found)}.", f"Name one: --approve {found[0]}.")
    there = ", ".join(change.label for change in plan.effective[:8]) or "nothing that needs it"
    raise UsageError(
        "unknown-approval", f"--approve {name} names nothing that would be installed.", f"There is: {there}."
    )


def _question(plan: Plan) -> str:
    hooks = any(change.hooks for change in plan.changes)
    return f"Install this, with these rights{' and hooks' if hooks else ''}?"


def _why(change: ItemChange) -> str:
    reasons = ["is brought along by an update"] if change.pulled_in else []
    if change.asks:
        worst = change.asks[0]
        verb = "widens its rights" if change.old is not None else "asks for rights"
        reasons.append(f"{verb} ({worst.pattern}{', …' if len(change.asks) > 1 else ''})")
    if change.hooks:
        reasons.append("adds hooks" if change.old is not None else "has hooks")
    if change.tools:
        named = ", ".join(change.tools[:3])
        reasons.append(f"{'adds' if change.old is not None else 'names'} tools of the agent program ({named})")
    if change.executables:
        reasons.append(
            f"{'adds' if change.old is not None else 'has'} executables ({', '.join(change.executables[:3])})"
        )
    if change.signer_changed:
        reasons.append("is signed by another key")
    return " and ".join(reasons)


def change_json(change: ItemChange) -> dict[str, object]:
    """One change for programs."""
    return {
        "action": change.action,
        "kind": change.identity.kind,
        "id": change.identity.id,
        "from": change.old.version if change.old else None,
        "to": change.new.version if change.new else None,
        "signer": change.new.signer if change.new else None,
        "signer_before": _signer_before(change),
        "signer_changed": change.signer_changed,
        "signer_new": change.signer_new,
        "asks": [{"capability": a.pattern, "tier": str(a.tier), "example": a.witness} for a in change.asks],
        "hooks": [
            {"when": h.when, "item_type": h.item_type, "item_id": h.item_id, "inputs": dict(h.inputs)}
            for h in change.hooks
        ],
        "pulled_in": change.pulled_in,
        "agent_tools": list(change.tools),
        "executables": list(change.executables),
        "needs_approval": change.stops,
    }
