"""Check an installed file against rye.lock, for :func:`rye.workspace.items.effective_item.checked_item` (DESIGN 6.1)."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from rye.errors import RyeError
from rye.installation.attached_check import attached_problem
from rye.items.identity import Identity
from rye.items.kinds import KINDS
from rye.items.location import locate
from rye.project.item_file import ItemFile
from rye.project.layout import Project
from rye.project.lock import Lock, LockedItem
from rye.project.lock_file import item_path, read_lock
from rye.workspace.trusting.agreed_here import CheckedItem
from rye.workspace.trusting.verified_items import require_verified

if TYPE_CHECKING:
    from rye.workspace.context import Context


def checked_at(
    context: Context, item: ItemFile, place: tuple[Project, Path], locks: MutableMapping[Path, Lock] | None
) -> CheckedItem:
    """The installed item. Raises a RyeError that says why it must not be used.

    ``place``: its project and its path there; ``locks``: as for ``checked_item``.
    """
    project, path = place
    asks_often = locks is not None
    if locks is None:
        locks = {}
    if project.root not in locks:
        locks[project.root] = read_lock(project)
    locked = _locked(locks[project.root], project, path)
    if locked is None:
        raise RyeError(
            "not-locked",
            f"{item.shown} is in .ai/packages but not in rye.lock, so it was not installed.",
            "Remove it, or install it with `rye add`.",
        )
    changed = changed_since(item, path, locked)
    if changed is not None:
        raise changed
    signed = require_verified(context, project, [locked], fetch=not asks_often)
    return CheckedItem(project, locked, signed[locked.identity])


def changed_since(item: ItemFile, path: Path, locked: LockedItem) -> RyeError | None:
    """The error for an item at ``path`` that differs from its row in any byte; None if it matches."""
    if sha256(item.data).hexdigest() != locked.sha256:
        return _changed(item, locked)
    if KINDS[locked.kind].main_file is not None:
        if (problem := attached_problem(path)) is not None:
            return _changed(item, locked, problem)
    elif (os.stat(path).st_mode & 0o100) and os.name == "posix":
        return _changed(item, locked, "It is executable, but the released file is not.")
    return None


def _changed(item: ItemFile, locked: LockedItem, detail: str = "") -> RyeError:
    said = f"{item.shown} was changed since {locked.id}@{locked.version} was installed."
    return modified_item(f"{said} {detail}" if detail else said, locked.id)


def modified_item(said: str, identifier: str | None) -> RyeError:
    """The error for a changed or added file. ``identifier``: the id of its item, if it belongs to one."""
    hint = (
        "`rye diff --edited` shows the change. `rye install --discard-local-edits` restores the file as rye.lock has it"
    )
    keeps = f"; after that, `rye override new {identifier}` makes a change that upgrades keep." if identifier else "."
    return RyeError("modified-item", said, hint + keeps)


def _locked(lock: Lock, project: Project, path: Path) -> LockedItem | None:
    """The row of the file; None if the lock does not have exactly this file."""
    location = locate(path)
    if location is None or location.namespace is None:
        return None
    locked = lock.find(Identity(location.kind, f"{location.namespace}/{location.local_id}"))
    if locked is None or project.root / item_path(locked) != path:
        return None
    return locked
