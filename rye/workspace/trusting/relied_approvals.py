"""The approvals that an installation takes from rye.lock."""

from __future__ import annotations

from rye.consent.ask import Ask, hook_text, run_text
from rye.consent.sorts import approvals
from rye.installation.plan import Consent, Plan, approved_items, never_approved


def relied_on(plan: Plan) -> set[Ask]:
    """The approvals that an installation takes from the lock instead of asking."""
    found: set[Ask] = set()
    for change in plan.changes:
        if change.new is None or change.old is None or never_approved(change.old):
            continue
        asked = {asked.pattern for asked in change.asks}
        asked.update(hook_text(hook) for hook in change.hooks)
        asked.update(run_text(run) for run in change.runs)
        asked.update(mention.word for mention in change.new_mentions)
        if change.forces_anew and change.forced is not None:
            asked.add(change.forced)  # this run asks for it; rye.lock did not have it
        if change.signer_changed:
            asked.add(change.new.signer)
        [row] = approved_items(Plan((change,)), Consent())
        found.update(one for one in approvals([row]) if one.sort != "tool" and one.text not in asked)
        if not change.tools:  # no new tools: the user agreed to the earlier ones
            found.update(one for one in approvals([change.old]) if one.sort == "tool")
    return found
