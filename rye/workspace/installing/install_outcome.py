"""The results of an installation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from rye.installation.completeness import Problem
    from rye.installation.held_back import HeldBack, Yanked
    from rye.installation.plan import ItemChange
    from rye.installation.silence import NotAsked
    from rye.project.organizations import PolicyInForce
    from rye.workspace.installing.lock_moves import Moved
    from rye.workspace.installing.outdated_sources import OutdatedSource


class SetAside(Struct, frozen=True):
    """An item that an installation goes on without."""

    change: ItemChange
    why: str
    """The reason, as the end of a sentence that begins with the item."""


class InstallOutcome(Struct, frozen=True, kw_only=True):
    """The result of one installation. A failed one raises instead."""

    result: Literal["in-order", "nothing-wanted", "proposed", "installed", "stopped"]
    """``in-order``: nothing to do, and no registry was asked. ``nothing-wanted``: rye.toml has no dependencies. ``proposed``: a
    dry run. ``installed``: disk and lock are as planned. ``stopped``: nothing was done, because of what is set aside."""
    changes: tuple[ItemChange, ...] = ()
    """The changes made, or proposed."""
    warnings: tuple[str, ...] = ()
    files_written: int = 0
    set_aside: tuple[SetAside, ...] = ()
    """Items of a source that were left out, because only a person can let them in."""
    held_back: tuple[HeldBack, ...] = ()
    """After an update: items that others hold back from their newest version."""
    yanked: tuple[Yanked, ...] = ()
    """Installed items whose publisher yanked this version, with what to do instead; the warnings say so."""
    outdated_sources: tuple[OutdatedSource, ...] = ()
    """After an update: repositories of moved items that stay at a tag or commit although there is a newer one."""
    not_asked: tuple[NotAsked, ...] = ()
    """After ``add`` and ``update``: who did not answer, so that what they have in rye.lock stays. After ``rollback``: so that
    their last verified state was used."""
    is_empty: bool = False
    """Of ``in-order``: whether the project has no items."""
    stays: tuple[str, ...] = ()
    """After a removal: what rye.toml has no longer and is installed still, each with the reason."""
    followed: object | None = None
    """The report of the request's ``follow``; None if it had nothing to do."""
    deployed_before: bytes | None = None
    """After ``rollback``: the record of deployed files from before the last change of the lock; None if there was none."""
    policies: tuple[PolicyInForce, ...] = ()
    """The policies of the organizations that were joined, as they were in force."""


class LockOutcome(Struct, frozen=True):
    """The result of choosing versions without installing them."""

    changed: bool
    """Whether the new lock differs from the old one. A dry run does not write it."""
    items: int
    dry_run: bool = False
    moved: tuple[Moved, ...] = ()
    """The differences between the new lock and the old one, by identity."""
    not_asked: tuple[NotAsked, ...] = ()
    """Who did not answer, so that what they have in rye.lock stays."""


class LockCheck(Struct, frozen=True):
    """Whether rye.lock matches rye.toml."""

    exists: bool
    problems: tuple[Problem, ...]
    hint: str | None = None
    """How to fix the problems."""

    @property
    def fits(self) -> bool:
        """Whether the lock exists and has no problems."""
        return not self.problems
