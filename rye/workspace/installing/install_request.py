"""The request for an installation, from a person or a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct, field

if TYPE_CHECKING:
    from rye.consent.ask import Ask
    from rye.installation.plan import ItemChange, Plan
    from rye.installation.transaction import Round
    from rye.items.identity import Identity
    from rye.project.layout import Project
    from rye.workspace.context import Context
    from rye.workspace.installing.text_changes import TextChange
    from rye.workspace.registries.airgap_access import Airgap

LockUse = Literal["repair", "locked", "frozen"]
"""How far rye.lock binds: ``repair`` may change it, ``locked`` refuses one that does not match rye.toml, and ``frozen`` also
refuses hand-edited files and changes neither rye.toml nor rye.lock."""


Followed: TypeAlias = "tuple[Round, object]"
"""More changes for the same transaction, and a report of them."""
Follow = Callable[["Context", "Project"], "Followed | None"]
"""Runs once the items are in place: returns more changes for the same transaction and a report of them, which
:attr:`rye.workspace.installing.install_outcome.InstallOutcome.followed` passes on, or None."""


class InstallRequest(Struct, frozen=True, kw_only=True):
    """A request for one installation."""

    command: str
    """The command as given, without options that agree to something; hints repeat it."""
    approved: tuple[str, ...] = ()
    """``[kind:]id@version`` of changes that are approved by name."""
    dry_run: bool = False
    discard_local_edits: bool = False
    """Whether files that were edited by hand may be replaced."""
    without: frozenset[str] = frozenset()
    """Groups to leave out."""
    lock_use: LockUse = "repair"
    sets_aside: bool = False
    """Whether the items that only a person or an approval by name can let in are returned, with what needs them, instead of
    refusing everything (:attr:`~rye.workspace.installing.install_outcome.InstallOutcome.set_aside`)."""
    strict_overrides: bool = False
    """Whether an override that does not fit a new version stops the installation."""
    airgap: Airgap | None = None
    """A file to read every release from, instead of a registry."""
    follow: Follow | None = None


class ProposedText(Struct, frozen=True):
    """A file that will be installed."""

    item: str
    """Identity and version."""
    path: str
    """Of an attached file; empty: the item's own file."""
    data: bytes
    before: bytes | None = None
    """What it replaces; None if it is new, or if the locked bytes are not here."""


Texts: TypeAlias = tuple[ProposedText, ...]


class Proposal(Struct, frozen=True, kw_only=True):
    """What an installation is about to do, for the face to show."""

    plan: Plan | None
    """None if nothing is installed: then only ``unseen`` is asked about."""
    notes: tuple[str, ...]
    """Warnings about what will be installed."""
    waiting: tuple[ItemChange, ...]
    """The changes that still need consent."""
    time: datetime
    """The current time, to show ages."""
    unseen: tuple[Ask, ...] = ()
    """What rye.lock approves and this user has not seen. If this and ``waiting`` are empty, nothing is asked."""
    undeclared: tuple[str, ...] = ()
    """Of the items of rye.lock that ``unseen`` is about, those that nothing limits."""
    texts: Texts = ()
    """What a person can read before the answer."""
    changed: Mapping[Identity, TextChange] = field(default_factory=dict)
    """How much the texts of updated items change."""


Agree = Callable[[Proposal], bool]
"""Shows a proposal and, if something waits and a person can be asked, asks once. Returns whether they said yes."""
