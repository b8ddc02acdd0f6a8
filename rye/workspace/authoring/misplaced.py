"""Warnings about own items in folders that Rye does not read, for the commands that go through all own items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rye.project.layout import find_project
from rye.project.misplaced import misplaced_items

if TYPE_CHECKING:
    from rye.workspace.context import Context


def warn_of_misplaced(context: Context) -> None:
    """Warn of each misplaced item of the project around the working folder. Raises RyeError ``bad-manifest``."""
    project = find_project(context.cwd)
    for each in misplaced_items(project) if project is not None else ():
        context.warn(each.message, each.hint)
