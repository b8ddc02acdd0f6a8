"""Whether an installed item's text may be handed out for use: this user must have agreed to what it comes with (DESIGN 6.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rye.errors import RyeError
from rye.workspace.trusting.acceptance import Approval, remember
from rye.workspace.trusting.agreed_here import agreed_here

if TYPE_CHECKING:
    from rye.workspace.context import Context
    from rye.workspace.items.effective_item import EffectiveItem

AgreeTo = Callable[[tuple[Approval, ...]], bool]
"""Shows what rye.lock approves and this user has not agreed to, and asks a person; whether they said yes."""


def require_agreed(
    context: Context, found: EffectiveItem, trust_lock: bool = False, agree: AgreeTo | None = None
) -> None:
    """That this user agreed to everything that an item comes with, before or now. One that nobody installed passes, and so does
    one that comes with nothing.

    ``trust_lock``: as ``--trust-lock`` says it; ``agree`` None: nobody is asked. Raises RyeError ``project-not-accepted``,
    ``declined``, and ``consent-needed`` for what rye.lock does not approve either.
    """
    if found.installed is None:
        return
    agreed = agreed_here(context, found.installed, trust_lock)
    refusal = agreed.refusal()
    if refusal is None:
        return
    if agreed.unapproved or agree is None or not context.interactive:
        raise refusal
    if not agree(agreed.waiting):
        raise RyeError("declined", "Nothing was changed.")
    remember(found.installed.project, agreed.waiting)
