"""Hooks: which of them fire in a context, and with what inputs (DESIGN §8; DECISIONS Directives 15).

Hooks are evaluated in document order; a hook fires if its ``<when>`` is ``true``. In its inputs, ``${name}`` with a dotted name
of the context is replaced. Alone, it keeps the value's type (null if missing); inside other text, it becomes text. There is one
pass: inserted values are never scanned again. Types, ids and input names are fixed, since consent was given to exactly those.

Nothing runs here and nothing is approved. Whether the directive's own capabilities cover a hook's action is only a flag.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from rye.errors import UsageError
from rye.items.directive.expressions import holds, look_up
from rye.items.directive.model import Hook
from rye.permissions.matching import CheckAnswer, check
from rye.rendering.interpolation import text_of

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)\}")


class HookRun(Struct, frozen=True):
    """The action of a hook that fires."""

    item_type: str
    item_id: str
    inputs: Mapping[str, object]
    required: str | None
    """The capability string that it needs; None if its type or id is invalid."""
    allowed: bool
    """Whether the directive's own capabilities cover it. Approval is a separate matter."""

    def as_json(self) -> dict[str, object]:
        """Return an entry of ``actions`` of ``rye hooks eval`` (DESIGN §9), plus ``required`` and ``allowed``."""
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
        """Return an entry of ``skipped`` of ``rye hooks eval``."""
        hook = self.hook
        return {"item_type": hook.item_type, "item_id": hook.item_id, "when": hook.when, "reason": self.reason}


class Evaluation(Struct, frozen=True):
    """The result for all hooks, each list in document order."""

    actions: tuple[HookRun, ...]
    skipped: tuple[SkippedHook, ...]

    def as_json(self) -> dict[str, object]:
        """Return the stable JSON of ``rye hooks eval`` (DESIGN §9)."""
        return {"actions": [run.as_json() for run in self.actions], "skipped": [one.as_json() for one in self.skipped]}


def evaluate_hooks(
    hooks: Iterable[Hook],
    context: Mapping[str, object],
    capabilities: Sequence[str],
    is_approved: Callable[[Hook], bool] = lambda hook: True,
) -> Evaluation:
    """Evaluate ``hooks`` against ``context``, a mapping of JSON values. ``capabilities`` are the directive's own.

    ``is_approved``: whether a person approved the hook; an unapproved hook is skipped.
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


def permission(hook: Hook, capabilities: Sequence[str]) -> CheckAnswer | None:
    """Whether ``capabilities`` cover the action of ``hook``; None if its type or id is invalid, so that nothing can cover it."""
    try:
        return check([capabilities], "execute", hook.item_type, hook.item_id)
    except UsageError:
        return None


def substitute(text: str, context: Mapping[str, object]) -> object:
    """Replace each ``${name}`` in ``text``. If the text is nothing else, return the value itself, with its type."""
    whole = _VARIABLE.fullmatch(text)
    if whole is not None:
        return look_up(tuple(whole[1].split(".")), context)
    return _VARIABLE.sub(lambda match: text_of(look_up(tuple(match[1].split(".")), context)), text)
