"""The request for an installation, from a person or a program."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from rye.installation.plan import ItemChange, Plan
    from rye.installation.transaction import Round
    from rye.project.layout import Project
    from rye.workspace.context import Context
    from rye.workspace.registries.airgap_access import Airgap
    from rye.workspace.trusting.acceptance import Approval

LockUse = Literal["repair", "locked", "frozen"]
"""How far rye.lock binds: ``repair`` may change it, ``locked`` refuses one that does not fit rye.toml, ``frozen`` also refuses
files that were edited by hand, and changes neither rye.toml nor rye.lock."""


Followed: TypeAlias = "tuple[Round, object]"
"""Changes that belong to the same transaction, and what to say of them."""
Follow = Callable[["Context", "Project"], "Followed | None"]
"""What belongs to the same transaction once the items are in place: more changes, and what to say of them, which
:attr:`rye.workspace.installing.install_outcome.InstallOutcome.followed` passes on. None: nothing."""


class InstallRequest(Struct, frozen=True):
    """One installation, whatever started it."""

    command: str
    """The command as it was given, without the options that agree to something; hints repeat it."""
    approved: tuple[str, ...] = ()
    """``[kind:]id@version`` of changes that are approved by name."""
    dry_run: bool = False
    discard_local_edits: bool = False
    """Whether files that were edited by hand may be replaced."""
    without: frozenset[str] = frozenset()
    """Groups to leave out."""
    lock_use: LockUse = "repair"
    trust_lock: bool = False
    """Whether what rye.lock approves counts here without being accepted, for this run alone."""
    strict_overrides: bool = False
    """Whether an override that does not fit a new version stops the installation."""
    airgap: Airgap | None = None
    """A file to take every release from, instead of a registry."""
    follow: Follow | None = None


class Proposal(Struct, frozen=True):
    """What an installation is about to do, for the face to show."""

    plan: Plan
    notes: tuple[str, ...]
    """Warnings about what will be installed."""
    waiting: tuple[ItemChange, ...]
    """The changes that nobody agreed to yet."""
    time: datetime
    """Now, for ages."""
    unseen: tuple[Approval, ...] = ()
    """What rye.lock approves and this user has not seen. With neither of the two there is nothing to ask."""


Agree = Callable[[Proposal], bool]
"""Shows a proposal and, where something waits and a person can be asked, asks them once. Whether they said yes."""
