"""Who agrees to a plan: ``--yes``, an approval by name, or a person who is asked once (DESIGN §7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rye.consent.ask import Ask
from rye.errors import RyeError, UsageError
from rye.installation.plan import Consent, ItemChange, Plan, labels_named, refused
from rye.workspace.installing.install_request import Agree, InstallRequest, Proposal
from rye.workspace.trusting.acceptance import not_accepted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rye.items.consented import Run
    from rye.items.signed_release import Mention
    from rye.workspace.context import Context

_LISTED_LABELS = 8
_LISTED_NAMES = 3


def obtain_consent(
    context: Context,
    request: InstallRequest,
    plan: Plan,
    notes: Sequence[str],
    agree: Agree,
    unseen: tuple[Ask, ...] = (),
) -> Consent:
    """Show the plan through the face, and find out who agrees to it. In a dry run, only show it.

    ``unseen``: what rye.lock approves and this user has not agreed to; only a person's yes covers it.

    Raises RyeError ``project-not-accepted``, ``consent-needed`` or ``declined``, UsageError ``unknown-name`` or
    ``ambiguous``.
    """
    if request.dry_run:
        agree(Proposal(plan, tuple(notes), (), context.now()))
        return Consent()
    if request.lock_use == "frozen":
        return _frozen_consent(context, request, plan, notes, agree, unseen)
    consent = Consent(yes=context.assume_yes, approved=frozenset(_label(plan, name) for name in request.approved))
    waiting = refused(plan, consent)
    said_yes = agree(Proposal(plan, tuple(notes), waiting, context.now(), unseen))
    if not waiting and not unseen:
        return consent
    if said_yes:
        return Consent(person=True) if waiting else consent
    _refuse(context, unseen)
    raise _consent_needed(request, consent, waiting)


def accept_lock(context: Context, agree: Agree, unseen: tuple[Ask, ...]) -> None:
    """Ask a person about what rye.lock approves. Raises RyeError ``project-not-accepted`` or ``declined``."""
    if not agree(Proposal(Plan(()), (), (), context.now(), unseen)):
        _refuse(context, unseen)


def _refuse(context: Context, unseen: tuple[Ask, ...]) -> None:
    if context.interactive:
        raise RyeError("declined", "Nothing was changed.")
    if unseen:
        raise not_accepted(unseen)


def _frozen_consent(
    context: Context,
    request: InstallRequest,
    plan: Plan,
    notes: Sequence[str],
    agree: Agree,
    unseen: tuple[Ask, ...],
) -> Consent:
    """Installing exactly the lock approves nothing: either the lock has all approvals, or the installation fails."""
    waiting = refused(plan, Consent())
    said_yes = agree(Proposal(plan, tuple(notes), (), context.now(), () if waiting else unseen))
    if waiting:
        why = "; ".join(f"{change.label} {_why(change)}" for change in waiting)
        raise RyeError(
            "consent-needed",
            f"rye.lock does not approve everything in it, so nothing was changed: {why}.",
            f"`{request.command}` approves nothing. Run `rye install` where a person can agree, and commit rye.lock.",
            details={"changes": change_documents(waiting)},
        )
    if unseen and not said_yes:
        _refuse(context, unseen)
    return Consent()


def _label(plan: Plan, name: str) -> str:
    """The label of the one change that an approval names."""
    found = labels_named(plan, name)
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            "ambiguous", f"--approve {name} matches {', '.join(found)}.", f"Name one: --approve {found[0]}."
        )
    there = ", ".join(change.label for change in plan.effective[:_LISTED_LABELS]) or "nothing"
    raise UsageError(
        "unknown-name",
        f"--approve {name} matches nothing that would be installed.",
        f"To approve: {there}.",
        what="release",
    )


def _consent_needed(request: InstallRequest, consent: Consent, waiting: Sequence[ItemChange]) -> RyeError:
    """The error: what waits for a yes, why, and the command that gives it."""
    stopping = [change for change in waiting if change.stops]
    why = "; ".join(f"{change.label} {_why(change)}" for change in stopping or waiting)
    if stopping:
        named = [*sorted(consent.approved), *(change.label for change in stopping)]
        plain = "--yes " if consent.yes or len(waiting) > len(stopping) else ""
        arguments = " ".join(f"--approve {label}" for label in named)
        hint = f"Read what changed, then approve it by name: {request.command} {plain}{arguments}"
    else:
        hint = f"`{request.command} --yes` agrees to what is shown; on a terminal you are asked."
    return RyeError(
        "consent-needed",
        f"Approval required, so nothing was changed: {why}.",
        hint,
        details={"changes": change_documents(waiting)},
    )


def _why(change: ItemChange) -> str:
    update = change.old is not None
    reasons = ["is pulled in by an update"] if change.pulled_in else []
    if change.asks:
        more = ", …" if len(change.asks) > 1 else ""
        reasons.append(f"{'widens its rights' if update else 'asks for rights'} ({change.asks[0].pattern}{more})")
    if change.hooks:
        reasons.append("adds hooks" if update else "has hooks")
    if change.tools:
        reasons.append(f"{'widens its' if update else 'names'} tools of the agent program ({_some(change.tools)})")
    reasons += _why_runs(change.runs, update)
    if change.new_mentions:
        reasons.append(f"mentions {_some([f'{m.fact}: {m.value} ({m.path}:{m.line})' for m in change.new_mentions])}")
    if change.signer_unknown and change.new is not None and change.new.source is not None:
        reasons.append(f"is the first item from a source that you never agreed to ({change.new.registry})")
    elif change.signer_unknown:
        reasons.append("is the first item from a signer that you never agreed to")
    elif change.brought and change.new is not None:
        reasons.append(f"is a new, unsigned item from {change.new.registry}")
    if change.signer_changed:
        reasons.append(_why_signer(change))
    if change.newly_forced:
        reasons.append(f"is forced by [overrides] of rye.toml ({change.forced})")
    return " and ".join(reasons)


def _why_signer(change: ItemChange) -> str:
    """How the signer changed; items of sources can have none before, after, or both."""
    if change.new is None or not change.new.is_unsigned:
        return "is signed by a different key"
    if change.unsigned_from is not None:
        return f"comes from a different source ({change.new.registry}, previously {change.unsigned_from})"
    return "is no longer signed"


def _why_runs(runs: Sequence[Run], update: bool) -> list[str]:
    verb = "adds or changes" if update else "has"
    words = {
        "attached-file": "executables",
        "frontmatter-hook": "hooks of the agent program",
        "mcp-server": "MCP servers",
        "inline-command": "commands that run on loading",
        "tool-code": "code",
        "tool-needs": "needs beyond the sandbox",
    }
    named = {what: [_named(r) for r in runs if r.what == what] for what in words}
    return [f"{verb} {words[what]} ({_some(names)})" for what, names in named.items() if names]


def _named(run: Run) -> str:
    if run.what == "tool-needs":
        return f"{run.where} {run.action}"
    return run.action if run.what == "inline-command" else run.where


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED_NAMES} more" if len(names) > _LISTED_NAMES else ""
    return f"{', '.join(names[:_LISTED_NAMES])}{more}"


def change_documents(changes: Iterable[ItemChange]) -> list[dict[str, object]]:
    """Changes as ``--json`` prints them."""
    return [_document(change) for change in changes]


def _document(change: ItemChange) -> dict[str, object]:
    return {
        "action": change.action,
        "kind": change.identity.kind,
        "id": change.identity.id,
        "from": change.old.version if change.old else None,
        "to": change.new.version if change.new else None,
        "signer": change.new.signed_by if change.new else None,
        "source": change.new.source.as_json() if change.new and change.new.source else None,
        "signer_before": change.signer_before,
        "signer_changed": change.signer_changed,
        "signer_new": change.signer_new,
        "asks": [{"capability": a.pattern, "tier": str(a.tier), "example": a.witness} for a in change.asks],
        "hooks": [
            {"when": h.when, "item_type": h.item_type, "item_id": h.item_id, "inputs": dict(h.inputs)}
            for h in change.hooks
        ],
        "pulled_in": change.pulled_in,
        **({"forced": change.forced} if change.forced is not None else {}),
        "signer_unknown": change.signer_unknown,
        "agent_tools": list(change.tools),
        "executables": [run.where for run in change.runs if run.what == "attached-file"],
        "runs": [run_document(run) for run in change.runs],
        "facts": [{**mention_document(m), "new": m in change.new_mentions} for m in change.mentions],
        "needs_approval": change.stops,
    }


def run_document(run: Run) -> dict[str, str]:
    """One thing that can run, as ``--json`` prints it."""
    return {"what": run.what, "where": run.where, "action": run.action, "sha256": run.sha256}


def mention_document(mention: Mention) -> dict[str, object]:
    """One thing that an item mentions, as ``--json`` prints it."""
    return {
        "fact": mention.fact,
        "value": mention.value,
        "level": mention.level,
        "path": mention.path,
        "line": mention.line,
    }
