"""The files attached to an item: as published, and as they are used, with overrides applied (DECISIONS Overrides 21–24).

Deploying, rendering, running, facts and rights all take an item's files from :func:`effective_tree`, so that what is used is what
was verified and agreed to. The bytes are in the result: nobody reads them again.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rye.customization.effective_files import Tree, TreeFile, tree_of_row
from rye.errors import RyeError
from rye.items.attached import attached_files
from rye.limits import CONTENT
from rye.project.item_file import ItemFile, read_item_bytes
from rye.workspace.context import Context

if TYPE_CHECKING:
    from rye.customization.effective_text import Effective
    from rye.project.lock import LockedItem
    from rye.text.diagnostics import Diagnostic
    from rye.verified.installed import CheckedItem


class ReadItem(Protocol):
    """The part of a :class:`rye.workspace.items.effective_item.EffectiveItem` that its files depend on."""

    @property
    def item(self) -> ItemFile:
        """Its file."""

    @property
    def installed(self) -> CheckedItem | None:
        """Its row; None for an item that was not installed."""

    @property
    def attached(self) -> Tree | None:
        """Its files without overrides, if they were read already."""

    @property
    def result(self) -> Effective | None:
        """The effect of its overrides."""


def effective_tree(context: Context, found: ReadItem) -> Tree:
    """The files attached to an item as it is used. Raises the errors of :func:`base_tree`."""
    if found.result is not None and found.result.changes_files:
        return found.result.tree
    return base_tree(context, found)


def base_tree(context: Context, found: ReadItem) -> Tree:
    """The files attached to an item without overrides: of an installed one each as rye.lock has it, of another one what is in its
    folder. Empty for a kind without attached files.

    Raises RyeError ``modified-item`` for a file that changed, ``does-not-parse`` for a folder that can have none, and the errors
    of :func:`rye.workspace.items.editable_items.editable_items`.
    """
    if found.attached is not None:
        return found.attached
    if found.item.kind.main_file is None or found.item.path.name != found.item.kind.main_file:
        return {}
    if found.installed is None:
        return _of_folder(found.item)
    row = found.installed.row
    if not row.is_editable:
        return _as_locked(found.item, row)
    reader = importlib.import_module("rye.workspace.items.editable_items")  # loads sources and git: only if needed
    now = reader.editable_item(context, found.installed.project, row)
    return tree_of_row(now.row, now.attached)


def _as_locked(item: ItemFile, row: LockedItem) -> Tree:
    tree = {}
    for entry in row.attached:
        file = TreeFile.of(
            read_item_bytes(item.path.parent / entry.path, CONTENT.attached_bytes), executable=entry.executable
        )
        if file.sha256 != entry.sha256:
            message = f"{entry.path} of {row.identity} was changed after it was installed."
            hint = "`rye install --discard-local-edits` restores the installed file."
            raise RyeError("modified-item", message, hint)
        tree[entry.path] = file
    return tree


def _of_folder(item: ItemFile) -> Tree:
    tree, problems = folder_tree(item.path)
    if problems:
        message = f"{item.shown}: {problems[0].message}"
        raise RyeError("does-not-parse", message, problems[0].hint or f"`rye validate {item.shown}` says more.")
    return tree


def folder_tree(main_file: Path) -> tuple[Tree, tuple[Diagnostic, ...]]:
    """What is attached to the item whose own file is ``main_file``; with findings, nothing. Raises RyeError
    ``changed-meanwhile``, and for a file that cannot be read."""
    files, problems = attached_files(main_file)
    if problems:
        return {}, problems
    tree = {}
    for file in files:
        read = TreeFile.of(
            read_item_bytes(main_file.parent / file.path, CONTENT.attached_bytes), executable=file.executable
        )
        if read.sha256 != file.sha256:
            raise RyeError("changed-meanwhile", f"{file.path} was changed just now.", "Run the command again.")
        tree[file.path] = read
    return tree, ()
