"""The hooks of the directive that a run was started for: which ones fire at an event, and what they do.

The events are ``error``, ``limit``, ``deviation`` and ``after_turn``. At each, all hooks whose condition is true fire, in
document order, at most five in a run. Only approved hooks fire. A hook's action is an ordinary call: decided and logged.
Errors in a hook do not fire other hooks.

=====================================  ===========================================================================
``cost.current``, ``cost.limit``       dollars; tokens if no ``<spend>`` limits the run; the limit is null if none
``loop_count``                         how often the last call was repeated with the same result, if at least 3 times;
                                       how long it took is not part of the result
``error.type``, ``.resource``,         the error code with ``_`` for ``-``; a denied call is ``permission_denied``
``.message``
``deviation.type``, ``.message``       the outputs do not match the declaration (``schema_mismatch``), or there are
                                       none (``no_return``)
``directive.name``                     the directive's name
=====================================  ===========================================================================
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

from rye.items.consented import HookAction
from rye.items.directive.model import Directive, Hook
from rye.limits import RUN
from rye.rendering.hooks import HookRun, evaluate_hooks
from rye.runtime.calls import CallError, cut
from rye.runtime.chain import Level
from rye.runtime.event_log import Event
from rye.runtime.session import Session

EventKind = Literal["error", "limit", "deviation", "after_turn"]
_TYPES = {"denied": "permission_denied"}


class Loops:
    """Counts consecutive identical calls with identical results."""

    def __init__(self) -> None:
        self._last: tuple[str, str, str] | None = None
        self._times = 0

    def saw(self, name: str, arguments: object, result: object) -> None:
        """Count one call. ``result``: what makes two results the same."""
        this = (name, json.dumps(arguments, sort_keys=True, default=str), json.dumps(result, default=str))
        self._times = self._times + 1 if this == self._last else 1
        self._last = this

    @property
    def count(self) -> int:
        """How often the last call was repeated; 0 below the threshold."""
        return self._times if self._times >= RUN.loop_from else 0


def error_context(error: CallError) -> dict[str, object]:
    """Return ``error`` as hooks' conditions and inputs see it."""
    kind = _TYPES.get(error.code, error.code.replace("-", "_"))
    return {"type": kind, "resource": error.resource, "message": error.message, "required": error.required}


class Hooks:
    """Fires the hooks of one run's directive."""

    def __init__(
        self,
        session: Session,
        directive: Directive,
        level: Level,
        loops: Loops,
        told: Callable[[HookRun, str], None] = lambda hook, how: None,
    ):
        """``told``: called with every hook that fires, and its outcome."""
        self._session = session
        self._directive = directive
        self._level = level
        self._loops = loops
        self._told = told
        self.fired = 0

    def fire(self, event: EventKind, **said: Mapping[str, object]) -> list[str]:
        """Fire the hooks of an event, and return the notes for the model. ``said``: ``error=`` or ``deviation=``. Raises
        RyeError ``log-unwritable``."""
        if not self._directive.hooks or self.fired >= RUN.hooks:
            return []
        found = evaluate_hooks(self._directive.hooks, self.context(said), self._level.rights, self._is_approved)
        notes = []
        for hook in found.actions:
            if self.fired >= RUN.hooks:
                break
            self.fired += 1
            notes.append(self._run(hook, event))
        return notes

    def context(self, said: Mapping[str, object]) -> dict[str, Any]:
        """Return the values that conditions can use."""
        meter = self._session.meter
        used = meter.used_now()
        current, limit = float(used.spend), meter.left("spend")
        if limit is not None:
            limit = float(used.spend + limit)  # type: ignore[operator]  # spend is a Decimal on both sides
        elif (tokens := meter.left("tokens")) is not None:
            current, limit = used.tokens, used.tokens + tokens
        nothing = {"type": None, "message": None}
        return {
            "cost": {"current": current, "limit": limit},
            "loop_count": self._loops.count,
            "error": {**nothing, "resource": None},
            "deviation": nothing,
            "directive": {"name": self._directive.name},
            **said,
        }

    def _is_approved(self, hook: Hook) -> bool:
        return HookAction(hook.when, hook.item_type, hook.item_id, hook.inputs) in self._level.hooks

    def _run(self, hook: HookRun, event: EventKind) -> str:
        name = f"{hook.item_type}:{hook.item_id}"
        if not hook.allowed:
            self._session.recording.note(Event(event="hook", item=name, decision="denied", by=self._level.label))
            self._told(hook, "denied")
            return f"The hook {name} did not run: the directive's rights do not allow it."
        self._session.recording.note(Event(event="hook", item=name, decision=event, by=self._level.label))
        arguments = {"item_type": hook.item_type, "item_id": hook.item_id, "parameters": dict(hook.inputs)}
        try:
            result = self._session.act("rye_execute", arguments, beyond=event == "limit")
        except CallError as error:
            self._told(hook, error.code)
            return f"The hook {name} failed: {error.code}: {cut(error.message, 400)}"
        self._told(hook, "done")
        return f"The hook {name} ran because of {event}. Its result: {json.dumps(result, ensure_ascii=False)}"
