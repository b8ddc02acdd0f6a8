"""What a use case can ask of the face that runs it.

Everything else that a use case needs arrives as a value. There is no global session. A use case that needs more takes another
argument; it does not add a member here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from rye.storage.home import Home

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class Advance(Protocol):
    """Advance a progress display by an amount."""

    def __call__(self, amount: int = 1) -> None:
        """Advance by ``amount`` of what is counted."""


class Context(Protocol):
    """One run of a use case, as provided by its face."""

    @property
    def cwd(self) -> Path:
        """The folder to work in."""

    @property
    def registry(self) -> str | None:
        """The registry's address for this run only (``--registry``); None means the project's or the user's."""

    @property
    def offline(self) -> bool:
        """Whether the network must not be used."""

    @property
    def interactive(self) -> bool:
        """Whether a person can be asked."""

    @property
    def assume_yes(self) -> bool:
        """Whether ordinary questions are answered with yes (``--yes``). It never widens a right."""

    @property
    def trust_lock(self) -> bool:
        """Whether ``--trust-lock`` was given. Use :func:`rye.workspace.trusting.acceptance.trusts_lock`, which also reads
        RYE_TRUST_LOCK."""

    @property
    def home(self) -> Home:
        """The user's folders, and the stores in them."""

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables. None of them names a folder of ``home`` (:meth:`Home.from_environment`)."""

    def now(self) -> datetime:
        """The time, with a time zone."""

    def ask(self, question: str) -> bool:
        """A person's yes or no. Called only if ``interactive``."""

    def tell(self, text: str, style: str | None = None, *, always: bool = False) -> None:
        """Show a notice; it can be dropped (``--quiet``), unless ``always``."""

    def warn(self, text: str, hint: str | None = None) -> None:
        """Show a warning; never dropped."""

    def progress(self, title: str, total: int | None = None) -> AbstractContextManager[Advance]:
        """Show the progress of work that may take more than a second."""


class Notice(Struct, frozen=True):
    """A warning from a use case."""

    text: str
    hint: str | None = None


class LibraryContext(Struct, kw_only=True):
    """A context for programs: asks no one, shows nothing, and keeps warnings in ``warnings``."""

    cwd: Path
    home: Home
    registry: str | None = None
    offline: bool = False
    assume_yes: bool = False
    trust_lock: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    clock: datetime | None = None
    """The time to use; None means the machine's clock."""
    warnings: list[Notice] = field(default_factory=list)

    @property
    def interactive(self) -> bool:
        """Always false."""
        return False

    def now(self) -> datetime:
        """The given time, or the machine's clock."""
        return self.clock or datetime.now(UTC)

    def ask(self, question: str) -> bool:
        """Always no."""
        return False

    def tell(self, text: str, style: str | None = None, *, always: bool = False) -> None:
        """Do nothing."""

    def warn(self, text: str, hint: str | None = None) -> None:
        """Keep the warning."""
        self.warnings.append(Notice(text, hint))

    @contextmanager
    def progress(self, title: str, total: int | None = None) -> Iterator[Advance]:
        """Show nothing."""
        yield lambda amount=1: None
