"""What an installation did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from rye.installation.completeness import Problem
    from rye.installation.held_back import HeldBack
    from rye.installation.plan import ItemChange
    from rye.workspace.installing.lock_moves import Moved


class InstallOutcome(Struct, frozen=True):
    """The result of one installation. A failed one raises instead."""

    result: Literal["in-order", "nothing-wanted", "proposed", "installed"]
    """``in-order``: there was nothing to do, and nothing was asked of a registry. ``nothing-wanted``: rye.toml has no
    dependencies. ``proposed``: a dry run. ``installed``: disk and lock are as planned."""
    changes: tuple[ItemChange, ...] = ()
    """What was done, or would be done by ``proposed``."""
    warnings: tuple[str, ...] = ()
    files_written: int = 0
    held_back: tuple[HeldBack, ...] = ()
    """Of an update: items that others keep from their newest version."""
    followed: object | None = None
    """What the request's ``follow`` said; None: there was nothing to do on top."""


class LockOutcome(Struct, frozen=True):
    """The result of choosing versions without installing them."""

    changed: bool
    """Whether the new lock differs from the old one. A dry run does not write it."""
    items: int
    dry_run: bool = False
    moved: tuple[Moved, ...] = ()
    """What the new lock has otherwise than the old one, by identity."""


class LockCheck(Struct, frozen=True):
    """Whether rye.lock fits rye.toml."""

    exists: bool
    problems: tuple[Problem, ...]
    hint: str | None = None
    """What to do about the problems."""

    @property
    def fits(self) -> bool:
        return not self.problems
