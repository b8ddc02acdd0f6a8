"""Whether an installed file is the one that was verified: in rye.lock, with the same bytes, attached files included (DESIGN 6.1).

:func:`rye.workspace.items.effective_item.checked_item` is the one way to it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.items.kinds import KINDS
from rye.items.location import locate
from rye.items.signed_release import SignedRelease
from rye.project.item_file import ItemFile
from rye.project.layout import Project, installed_place
from rye.project.lock import LockedItem
from rye.project.lock_file import Locks, item_folder, item_path
from rye.verified.on_disk import (
    DISCARDS,
    RESTORES,
    drift,
    explained,
    flag_explained,
    line_ends_explained,
    other_line_ends,
    read_present,
    scan,
)

Require = Callable[[Project, Sequence[LockedItem]], Mapping[Identity, SignedRelease]]
"""Requires that rows of a project were verified here, and returns their signed releases."""


class CheckedItem(Struct, frozen=True):
    """An installed item whose bytes match the lock, and whose row was verified on this machine."""

    project: Project
    row: LockedItem
    release: SignedRelease
    """Its signed release."""


def checked_at(item: ItemFile, place: tuple[Project, Path], locks: Locks, require: Require) -> CheckedItem:
    """The installed item. Raises a RyeError that says why it must not be used. ``place``: its project and its path there."""
    project, path = place
    locked = _locked(locks, project, path)
    if locked is None:
        raise RyeError(
            "not-locked",
            f"{item.shown} is in .ai/packages but not in rye.lock, so it was not installed.",
            "Remove it, or install it with `rye add`.",
        )
    changed = _changed_since(item, project, locked)
    if changed is not None:
        raise changed
    return CheckedItem(project, locked, require(project, [locked])[locked.identity])


def _changed_since(item: ItemFile, project: Project, locked: LockedItem) -> RyeError | None:
    """The error for an item that differs from its row in any byte; None if it matches."""
    if sha256(item.data).hexdigest() != locked.sha256:
        if other_line_ends(item.data, locked.sha256):
            return checkout_changed(item.shown, line_ends_explained(DISCARDS))
        return _changed(item, locked)
    if KINDS[locked.kind].main_file is not None:  # the files beside it are as much of the item
        if (problem := _difference(project, locked)) is not None:
            return _changed(item, locked, problem)
    elif (os.stat(project.root / item_path(locked)).st_mode & 0o100) and os.name == "posix":
        return checkout_changed(item.shown, flag_explained(item.shown, RESTORES, lost=False))
    return None


def installed_difference(file: Path, locks: Locks) -> str | None:
    """Return how an installed item's files differ from rye.lock; None if they match or the item is not installed. ``file``: its
    own file. A signature counts CR LF as LF and does not cover attached files, the lock counts every byte."""
    found = installed_place(file)
    if found is None:
        return None
    project, path = found
    try:
        item = _locked(locks, project, path)
    except RyeError as error:
        return error.message
    if item is None:
        return "It is in the folder of installed items, but rye.lock does not list it."
    return _difference(project, item)


def _difference(project: Project, item: LockedItem) -> str | None:
    """How the item's files on the disk differ from its row; None if they match."""
    folder = item_folder(item) if KINDS[item.kind].main_file is not None else None
    if folder is None:
        place = item_path(item)
        present = {place: read_present(str(project.root / place))}
    else:
        present = scan(project, folder)
    differences = drift([item], present)
    if not differences:
        return None
    told = [explained(project, entry, DISCARDS, RESTORES) for entry in differences]
    if len(differences) == 1 and told[0] is not None:
        return f"{differences[0].path} {told[0][0]}. {told[0][1]}"
    wrong = [
        f"{entry.path.removeprefix(f'{folder}/')} ({entry.state if said is None else said[0]})"
        for entry, said in zip(differences[:8], told, strict=False)
    ]
    return f"Its files differ from {item.identity} {item.version}: {', '.join(wrong)}."


def _changed(item: ItemFile, locked: LockedItem, detail: str = "") -> RyeError:
    said = f"{item.shown} was changed since {locked.id}@{locked.version} was installed."
    return modified_item(f"{said} {detail}" if detail else said, locked.identity)


def checkout_changed(shown: str, told: tuple[str, str]) -> RyeError:
    """The error for a file that a checkout may have changed: :func:`rye.verified.on_disk.explained`."""
    return RyeError("modified-item", f"{shown} {told[0]}.", told[1])


def modified_item(said: str, item: Identity | None) -> RyeError:
    """The error for a changed or added file. ``item``: the item that it belongs to, if any."""
    hint = (
        "`rye diff --edited` shows the change. `rye install --discard-local-edits` restores the file as rye.lock has it"
    )
    keeps = KINDS[item.kind].kept_by(item.id) if item is not None else "."
    return RyeError("modified-item", said, hint + keeps)


def _locked(locks: Locks, project: Project, path: Path) -> LockedItem | None:
    """The row of the file; None if the lock does not have exactly this file. Raises LockError."""
    rows = locks.rows(project)
    location = locate(path)
    if location is None or location.namespace is None:
        return None
    locked = rows.get(Identity(location.kind, f"{location.namespace}/{location.local_id}"))
    if locked is None or project.root / item_path(locked) != path:
        return None
    return locked
