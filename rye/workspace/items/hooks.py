"""A directive's hooks: what they would execute, whether its rights cover that, and whether the user approved it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from rye.errors import UsageError
from rye.items.consented import HookAction
from rye.items.directive.model import Directive, Hook
from rye.permissions.matching import CheckAnswer
from rye.rendering.hooks import Evaluation, evaluate_hooks, permission
from rye.workspace.context import Context
from rye.workspace.findings import FileFindings
from rye.workspace.installing.hook_approval import agreed_hooks
from rye.workspace.items.effective_item import EffectiveItem, effective_item
from rye.workspace.items.rights import capabilities_here


class JudgedHook(Struct, frozen=True):
    """One hook, as it would run here."""

    hook: Hook
    decision: CheckAnswer | None
    """Whether the directive's own rights cover it; None: its type or id is invalid, so no right can cover it."""
    approved: bool | None
    """None: the directive was not installed, so it needs no approval: its author is its user."""
    place: tuple[str, int]
    """The file and line where it was written."""


class HookedDirective(Struct, frozen=True):
    """A directive in use, and the hooks that count as approved."""

    item: EffectiveItem
    directive: Directive
    approved: tuple[HookAction, ...] | None
    rights: tuple[str, ...]
    """Its capabilities that are granted here."""

    @property
    def findings(self) -> tuple[FileFindings, ...]:
        """Findings about its overrides, then its own."""
        return (*self.item.findings, *self.item.own_findings())

    def hooks(self) -> list[JudgedHook]:
        """Its hooks in document order."""
        return [
            JudgedHook(
                hook,
                permission(hook, self.rights),
                None if self.approved is None else self._is_approved(hook),
                self.item.place(hook.line),
            )
            for hook in self.directive.hooks
        ]

    def evaluate(self, values: Mapping[str, object]) -> Evaluation:
        """Which hooks would fire for a context of JSON values."""
        return evaluate_hooks(self.directive.hooks, values, self.rights, self._is_approved)

    def _is_approved(self, hook: Hook) -> bool:
        action = HookAction(hook.when, hook.item_type, hook.item_id, hook.inputs)
        return self.approved is None or action in self.approved


def hooked_directive(context: Context, argument: str) -> HookedDirective:
    """The directive ``FILE|ID``. Raises UsageError ``wrong-kind`` for another kind, RyeError if it does not parse."""
    found = effective_item(context, argument)
    value = found.parsed()
    if not isinstance(value, Directive):
        raise UsageError(
            "wrong-kind", f"A {found.item.kind.name} has no hooks.", "Only directives have hooks.", what="hooks"
        )
    approved = agreed_hooks(context, found)
    rights = capabilities_here(context, found, [permission.capability for permission in value.permissions])
    return HookedDirective(found, value, None if approved is None else tuple(approved), rights)
