"""Warnings about own items in folders that Rye does not read, for the commands that go through own items."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rye.project.layout import find_project
from rye.project.misplaced import misplaced_items

if TYPE_CHECKING:
    from rye.workspace.context import Context


def warn_of_misplaced(context: Context, paths: Sequence[str] = ()) -> None:
    """Warn of each misplaced item of the project around the working folder. ``paths``: only of those that are named or lie in a
    folder that is. Raises RyeError ``bad-manifest``."""
    project = find_project(context.cwd)
    if project is None:
        return
    named = [Path(os.path.abspath(context.cwd / path)) for path in paths]
    for each in misplaced_items(project):
        file = Path(os.path.abspath(project.root / each.path))
        if not named or any(file.is_relative_to(path) for path in named):
            context.warn(each.message, each.hint)
