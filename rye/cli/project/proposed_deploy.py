"""The agent programs that are used here: the first ``rye add`` proposes in its question to deploy to them."""

from __future__ import annotations

from pathlib import Path


def programs_here(root: Path) -> tuple[str, ...]:
    """The names of the agent programs that are used in a project, or else by this user."""
    from rye.deployment.choosing import programs_used  # loads adapters, needed once in a project's life

    return programs_used(root)


def titles(names: tuple[str, ...]) -> str:
    """The names of programs as people write them: ``Claude Code, Codex and Cursor``."""
    from rye.deployment.targets.protocol import target

    *most, last = [target(name).title for name in names]
    return f"{', '.join(most)} and {last}" if most else last
