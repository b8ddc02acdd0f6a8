"""Hooks: which of them fire in a context, and with what inputs (DESIGN §8; DECISIONS Directives 15).

Hooks are taken in document order; one fires when its ``<when>`` is ``true``. In its inputs ``${name}``, with a dotted name of the
context, is replaced: alone it keeps the value's type (null where it is missing), inside other text it becomes text. One pass:
what a value brings in is never scanned again. Type, id and the names of inputs are fixed: consent was given to exactly those.

Nothing runs here, and nothing is approved: whether the directive's own capabilities cover what a hook would execute is a flag.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from rye.errors import UsageError
from rye.items.directive.expressions import holds, look_up
from rye.items.directive.model import Hook
from rye.permissions.matching import Decision, check
from rye.rendering.interpolation import text_of

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)\}")


class HookRun(Struct, frozen=True):
    """What a hook that fires would execute."""

    item_type: str
    item_id: str
    inputs: Mapping[str, object]
    required: str | None
    """The capability string that it needs; None: its type or id is none."""
    allowed: bool
    """Whether the directive's own capabilities cover it. Approval is another matter."""

    def as_json(self) -> dict[str, object]:
        """An entry of ``actions`` of ``rye hooks eval`` (DESIGN §9), with ``required`` and ``allowed`` added."""
        return {
            "item_type": self.item_type,
            "item_id": self.item_id,
            "inputs": dict(self.inputs),
            "required": self.required,
            "allowed": self.allowed,
        }


class SkippedHook(Struct, frozen=True):
    """A hook that does not fire, and why."""

    hook: Hook
    reason: str

    def as_json(self) -> dict[str, object]:
        """An entry of ``skipped`` of ``rye hooks eval``."""
        hook = self.hook
        return {"item_type": hook.item_type, "item_id": hook.item_id, "when": hook.when, "reason": self.reason}


class Evaluation(Struct, frozen=True):
    """The outcome for all hooks, each list in document order."""

    actions: tuple[HookRun, ...]
    skipped: tuple[SkippedHook, ...]

    def as_json(self) -> dict[str, object]:
        """The stable JSON of ``rye hooks eval`` (DESIGN §9)."""
        return {"actions": [run.as_json() for run in self.actions], "skipped": [one.as_json() for one in self.skipped]}


def evaluate_hooks(
    hooks: Iterable[Hook],
    context: Mapping[str, object],
    capabilities: Sequence[str],
    is_approved: Callable[[Hook], bool] = lambda hook: True,
) -> Evaluation:
    """Evaluate ``hooks`` against ``context``, a mapping of JSON values; ``capabilities`` are the directive's own.

    ``is_approved``: whether somebody agreed to the hook; one that nobody agreed to is skipped.
    """
    actions: list[HookRun] = []
    skipped: list[SkippedHook] = []
    for hook in hooks:
        if hook.expression is None:
            skipped.append(SkippedHook(hook, "the condition does not parse"))
        elif not holds(hook.expression, context):
            skipped.append(SkippedHook(hook, "the condition is not true"))
        elif not is_approved(hook):
            skipped.append(SkippedHook(hook, "it is not approved here"))
        else:
            inputs = {name: substitute(text, context) for name, text in hook.inputs}
            decision = permission(hook, capabilities)
            required = decision.required if decision else None
            actions.append(HookRun(hook.item_type, hook.item_id, inputs, required, bool(decision and decision.allowed)))
    return Evaluation(tuple(actions), tuple(skipped))


def permission(hook: Hook, capabilities: Sequence[str]) -> Decision | None:
    """Whether ``capabilities`` cover what ``hook`` would execute; None: its type or id is none, nothing can cover it."""
    try:
        return check([capabilities], "execute", hook.item_type, hook.item_id)
    except UsageError:
        return None


def substitute(text: str, context: Mapping[str, object]) -> object:
    """``text`` with its ``${name}`` replaced; the value itself, with its type, where the text is nothing else."""
    whole = _VARIABLE.fullmatch(text)
    if whole is not None:
        return look_up(tuple(whole[1].split(".")), context)
    return _VARIABLE.sub(lambda match: text_of(look_up(tuple(match[1].split(".")), context)), text)
