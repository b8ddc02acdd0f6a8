"""What a use case can ask of the face that runs it.

Everything else that a use case needs arrives as a value. There is no global session: a use case that needs more than this needs
another argument, not another member here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class Advance(Protocol):
    """Tells a progress display that some more is done."""

    def __call__(self, amount: int = 1) -> None: ...


class Context(Protocol):
    """One run, as its face sees it."""

    @property
    def cwd(self) -> Path:
        """The folder to work in."""

    @property
    def registry(self) -> str | None:
        """The registry's address for this run alone (``--registry``); None: what project and user say."""

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
    def environment(self) -> Mapping[str, str]:
        """The environment variables."""

    def now(self) -> datetime:
        """The time, with a time zone."""

    def ask(self, question: str) -> bool:
        """A person's yes or no. Only called when ``interactive``."""

    def tell(self, text: str, style: str | None = None) -> None:
        """Something that a person may want to know; it may be dropped (``--quiet``)."""

    def warn(self, text: str, hint: str | None = None) -> None:
        """Something that a person should know; never dropped."""

    def progress(self, title: str, total: int | None = None) -> AbstractContextManager[Advance]:
        """Work that may take more than a second."""


class Notice(Struct, frozen=True):
    """A warning that a use case gave."""

    text: str
    hint: str | None = None


class LibraryContext(Struct):
    """A context for programs: nobody is asked, nothing is shown, and warnings are kept in ``warnings``."""

    cwd: Path
    registry: str | None = None
    offline: bool = False
    assume_yes: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    clock: datetime | None = None
    """The time to work by; None: the machine's clock."""
    warnings: list[Notice] = field(default_factory=list)

    @property
    def interactive(self) -> bool:
        return False

    def now(self) -> datetime:
        return self.clock or datetime.now(UTC)

    def ask(self, question: str) -> bool:
        return False

    def tell(self, text: str, style: str | None = None) -> None:
        return None

    def warn(self, text: str, hint: str | None = None) -> None:
        self.warnings.append(Notice(text, hint))

    @contextmanager
    def progress(self, title: str, total: int | None = None) -> Iterator[Advance]:
        yield lambda amount=1: None
