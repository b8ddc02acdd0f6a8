"""How the overrides in force change an item's text and rights."""

from __future__ import annotations

from msgspec import Struct

from rye.customization.effective_diff import EffectiveDiff, effective_diff
from rye.permissions.containment import Diff, diff
from rye.workspace.context import Context
from rye.workspace.items.effective_item import effective_item, overridden


class EffectiveChanges(Struct, frozen=True):
    """``text``: the diff from the published text to the effective one."""

    id: str
    kind: str
    text: EffectiveDiff
    rights: Diff


def effective_changes(context: Context, argument: str) -> EffectiveChanges:
    """The changes of the item ``FILE|ID``. Raises RyeError as :func:`rye.workspace.items.effective_item.effective_item`."""
    target = effective_item(context, argument, base=True)
    result = overridden(context.home, target, context.now().date())
    before = target.item.reading.metadata
    after = result.reading.metadata if result is not None else before
    rights = diff(before.capabilities if before else (), after.capabilities if after else ())
    text = effective_diff(result, target.id) if result is not None else EffectiveDiff("", (), ())
    return EffectiveChanges(target.id, target.item.kind.name, text, rights)
