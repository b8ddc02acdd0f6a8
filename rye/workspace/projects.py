"""The project that a command works in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rye.project.context import require_project
from rye.project.layout import Project

if TYPE_CHECKING:
    from rye.workspace.context import Context


def project_of(context: Context) -> Project:
    """The project that contains the working folder. Raises RyeError ``no-project``."""
    return require_project(context.cwd)
