"""What consent needs to know of a row of rye.lock and of a release: the parts that both say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rye.consent.ask import Approved
    from rye.items.consented import HookAction, Run
    from rye.items.identity import Identity


class Comes(Protocol):
    """What an item comes with, as a release (:class:`rye.items.signed_release.SignedRelease`) or a row says it."""

    @property
    def capabilities(self) -> tuple[str, ...]:
        """Its rights."""

    @property
    def hooks(self) -> tuple[HookAction, ...]:
        """Its hooks."""

    @property
    def agent_tools(self) -> tuple[str, ...]:
        """The agent program's tools that it names."""

    @property
    def agent_limits(self) -> tuple[str, ...]:
        """The restrictions on them."""

    @property
    def runs(self) -> tuple[Run, ...]:
        """Its parts that can run."""


class File(Protocol):
    """An attached file."""

    @property
    def path(self) -> str:
        """Its path, relative to the item's folder."""

    @property
    def sha256(self) -> str:
        """The hash of its bytes."""


class Row(Comes, Protocol):
    """A row of rye.lock (:class:`rye.project.lock.LockedItem`)."""

    @property
    def identity(self) -> Identity:
        """Kind and id."""

    @property
    def version(self) -> str:
        """Its version."""

    @property
    def sha256(self) -> str:
        """The hash of its file."""

    @property
    def attached(self) -> Sequence[File]:
        """Its attached files."""

    @property
    def approved(self) -> Approved:
        """What it approves."""

    @property
    def registry(self) -> str:
        """The registry's origin, or the source's."""

    @property
    def signer(self) -> str:
        """The key's fingerprint; the source's origin if no trusted key signed the item."""

    @property
    def state(self) -> str | None:
        """This state of the item as ``rye diff`` names it; None for a folder's, which nobody keeps."""

    @property
    def source(self) -> object | None:
        """Where the item comes from, if not from a registry."""

    @property
    def forced(self) -> str | None:
        """The range that ``[overrides]`` forced."""

    @property
    def is_editable(self) -> bool:
        """Whether it is read from its folder each time."""

    @property
    def is_unsigned(self) -> bool:
        """Whether no trusted key signed it."""
