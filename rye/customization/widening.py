"""Detect overrides that let an item do more, or execute more, than its author signed (DESIGN §7).

Capabilities are compared exactly, as the sets of strings that their patterns match. A hook with a different condition or
different inputs is a different hook. If a comparison is too complex to finish, it counts as widened. Tools of the agent program
are compared with their restrictions, as in an update: a restriction that is lifted is a tool that is gained.
"""

from __future__ import annotations

from collections import Counter

from rye.items.agent_tools import widened
from rye.items.consented import HookAction
from rye.items.reading import Metadata
from rye.permissions.containment import diff
from rye.text.diagnostics import Diagnostic
from rye.text.display import visible


def widenings(base: Metadata | None, effective: Metadata | None) -> tuple[Diagnostic, ...]:
    """One error for each capability pattern that ``base`` does not cover, each tool of the agent program, and each hook or
    program that it does not have."""
    if effective is None or not (effective.capabilities or effective.hooks or effective.agent_tools or effective.runs):
        return ()

    hint = "Only rye.toml and your own policy.toml together allow this: allow-override-widening = true in [policy]."
    diagnostics: list[Diagnostic] = []
    old = base.capabilities if base is not None else ()
    for change in diff(old, effective.capabilities).widened:
        shown = f", for example {visible(change.witness)}" if change.witness is not None else ""
        message = f"It would widen what the item may do: {visible(change.pattern)}{shown}."
        diagnostics.append(Diagnostic("error", "override-widens", message, hint=hint))
    for tool in widened(base.agent_tools if base is not None else None, effective.agent_tools):
        message = f"It would widen which tools of the agent program the item may use: {visible(tool)}."
        diagnostics.append(Diagnostic("error", "override-widens", message, hint=hint))
    for run in set(effective.runs) - set(base.runs if base is not None else ()):
        message = f"It would have an agent program start something: {visible(run.where)}: {visible(run.action)}."
        diagnostics.append(Diagnostic("error", "override-widens", message, hint=hint))
    more = Counter(effective.hooks) - Counter(base.hooks if base is not None else ())
    for hook in more:
        message = f"It would add a hook: {_action(hook)}."
        diagnostics.append(Diagnostic("error", "override-adds-hook", message, hint=hint))
    return tuple(diagnostics)


def _action(hook: HookAction) -> str:
    when = f" when {visible(hook.when)}" if hook.when else ""
    return f"execute {visible(hook.item_type)} {visible(hook.item_id)}{when}"
