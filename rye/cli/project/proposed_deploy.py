"""The agent programs that are used here: the first ``rye add`` proposes in its question to deploy to them."""

from __future__ import annotations

import os
from pathlib import Path


def programs_here(root: Path) -> tuple[str, ...]:
    """The names of the agent programs that are used in a project, or else by this user."""
    from rye.deployment.selection import detected
    from rye.deployment.targets.protocol import all_targets  # loads adapters, needed once in a project's life

    targets = all_targets()
    here = detected(targets, "project", lambda path: os.path.lexists(root / path))
    return here or detected(targets, "user", lambda path: os.path.lexists(Path.home() / path))


def titles(names: tuple[str, ...]) -> str:
    """The names of programs as people write them: ``Claude Code, Codex and Cursor``."""
    from rye.deployment.targets.protocol import target

    *most, last = [target(name).title for name in names]
    return f"{', '.join(most)} and {last}" if most else last
