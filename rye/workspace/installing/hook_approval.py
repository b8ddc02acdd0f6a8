"""Approving the hooks of one installed item, and recording that in rye.lock."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from rye.consent.ask import Ask, hook_text
from rye.errors import RyeError
from rye.installation.completeness import locked_item
from rye.installation.transaction import Change, exclusive
from rye.items.consented import HookAction
from rye.project.layout import LOCK, Project
from rye.project.lock import Lock, LockedItem, lock_text
from rye.project.lock_file import read_lock
from rye.workspace.context import Context
from rye.workspace.items.effective_item import EffectiveItem
from rye.workspace.trusting.acceptance import agreement, require_remembered
from rye.workspace.trusting.asking import require_named_yes
from rye.workspace.trusting.verified_items import require_verified


class WaitingHooks(Struct, frozen=True):
    """The unapproved hooks of an item."""

    item: LockedItem
    hooks: tuple[HookAction, ...]


ShowHooks = Callable[[WaitingHooks], None]
"""Shows hooks with their exact action, before the question."""


def approve_hooks(context: Context, project: Project, name: str, show: ShowHooks) -> WaitingHooks:
    """Approve all hooks of the installed item ``[kind:]id``. Returns the hooks approved now.

    ``--yes`` is enough, because the item is named. Raises RyeError ``not-installed``, ``consent-needed``, ``declined``
    and ``lock-changed``.
    """
    lock = read_lock(project)
    item = locked_item(lock, name)
    if item.approved.is_pending:
        raise RyeError(
            "not-installed",
            f"{item.identity} {item.version} is locked but not yet approved.",
            "Run `rye install` first.",
        )
    require_verified(context, project, [item])
    waiting = WaitingHooks(
        item, tuple(hook for hook in item.hooks if hook not in agreed_hooks_of(context, project, item))
    )
    if waiting.hooks:
        show(waiting)
        _require_consent(context, waiting)
        _record(project, lock, item)
        approved = [Ask(str(item.identity), "hook", hook_text(hook)) for hook in waiting.hooks]
        require_remembered(context.home, project, approved)
    return waiting


def agreed_hooks_of(context: Context, project: Project, item: LockedItem) -> list[HookAction]:
    """The hooks of an installed item that rye.lock approves and that this user agreed to."""
    waiting = {ask.text for ask in agreement(context, project).new_in([item]) if ask.sort == "hook"}
    return [hook for hook in item.approved.of("hook") if hook_text(hook) not in waiting]


def agreed_hooks(context: Context, found: EffectiveItem) -> list[HookAction] | None:
    """The approved hooks of an item. None for an item that is not installed, whose author is its user."""
    installed = found.installed
    return agreed_hooks_of(context, installed.project, installed.row) if installed is not None else None


def _require_consent(context: Context, waiting: WaitingHooks) -> None:
    item, count = waiting.item, len(waiting.hooks)
    nobody = RyeError(
        "consent-needed",
        f"{item.identity} {item.version} has {count} unapproved hook{'s' * (count != 1)}.",
        f"`rye hooks approve {item.identity} --yes` approves them; `rye hooks list {item.identity}` shows them.",
    )
    require_named_yes(context, "Approve these hooks?", nobody)


def _record(project: Project, lock: Lock, item: LockedItem) -> None:
    with exclusive(project) as writer:
        if read_lock(project) != lock:
            raise RyeError("lock-changed", "rye.lock was changed by another rye process.", "Run the command again.")
        approved = replace(item, approved=item.approved.but(hook=item.hooks))
        items = tuple(approved if one.identity == item.identity else one for one in lock.items)
        writer.apply([Change(LOCK, lock_text(replace(lock, items=items)).encode())])
