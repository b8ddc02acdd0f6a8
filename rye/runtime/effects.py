"""The interfaces that a session uses for effects: items, tools, a person, a key, clocks. Faces and tests provide their
own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from threading import Event
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from rye.items.needs import NOTHING, Needs
from rye.runtime.approvals import Question
from rye.runtime.calls import CallError
from rye.runtime.chain import Chain, Level
from rye.runtime.limits import Limits

if TYPE_CHECKING:
    from rye.items.directive.model import Directive


class UsableItem(Struct, frozen=True):
    """An item whose bytes were read once, verified, and are the ones used from here on."""

    kind: str
    id: str
    version: str | None
    sha256: str
    """Of ``text`` as UTF-8."""
    signer: str | None
    """``SHA256:…`` of the key that signed the item; None for a file of the project's own that nobody signed."""
    text: str
    """The effective text."""
    overridden: bool
    suffix: str
    """What its file's name ends with."""
    description: str = ""
    directive: Directive | None = None
    """The parsed value of a directive."""
    level: Level | None = None
    """A directive as a caller."""
    log: int | None = None
    """Where its release stands in its registry's log."""
    registry: str | None = None
    needs: Needs = NOTHING
    """What a tool cannot work without."""

    @property
    def label(self) -> str:
        return f"{self.kind}:{self.id}@{self.version}" if self.version else f"{self.kind}:{self.id}"


class SearchRow(Struct, frozen=True):
    """One item that a search found."""

    id: str
    kind: str
    version: str | None
    description: str
    score: float


class Items(Protocol):
    """The items of a project, each read in the one way that checks it (DESIGN 6.1)."""

    def resolve(self, kind: str, item_id: str) -> str:
        """The whole id that an id means. Raises RyeError ``no-such-item`` and ``ambiguous``."""
        ...

    def read(self, kind: str, item_id: str, version: str | None = None, *, runs: bool) -> UsableItem:
        """The item, to be read or, with ``runs``, to be executed: then its signature must be valid. Raises RyeError."""
        ...

    def search(self, kind: str, query: str) -> Sequence[SearchRow]:
        """What the query finds of a kind, the best first."""
        ...

    def render(self, item: UsableItem, inputs: Mapping[str, object]) -> str:
        """The prompt of a directive. Raises RyeError for inputs that do not fit."""
        ...


class OwnFile(Struct, frozen=True):
    """A file of the project's own that a person may be asked to sign."""

    kind: str
    id: str
    path: str
    """Below the project's folder."""
    sha256: str
    """Of the bytes as they are now."""


class Signer(Protocol):
    """This user's key. It never leaves the process."""

    def find(self, kind: str, item_id: str) -> OwnFile:
        """The project's own file. Raises RyeError; ``installed-item`` for one that is not the project's own."""
        ...

    def sign(self, file: OwnFile) -> dict[str, object]:
        """``{"path", "sha256", "key"}``: exactly the bytes that were asked about are signed. Raises RyeError."""
        ...


class ToolResult(Struct, frozen=True):
    """What a tool's run gave."""

    exit: int | None
    output: object
    """The JSON value that it printed."""
    truncated: bool
    seconds: float
    error: CallError | None = None
    """Why it counts as failed."""
    ended_by_limit: bool = False
    """Whether the seconds that it was given ran out."""
    stderr: str = ""
    """What it wrote on standard error, for the log."""
    refused: tuple[str, ...] = ()
    """What it tried and may not, as far as that was seen: ``network HOST:PORT``, ``write PATH``."""


class Tools(Protocol):
    """Runs tools in a sandbox."""

    def check(self, item: UsableItem) -> None:
        """Raises CallError ``sandbox-unavailable`` or ``not-runnable``."""
        ...

    def run(self, item: UsableItem, parameters: bytes, seconds: float | None, cancel: Event) -> ToolResult:
        """Run exactly the item's bytes. ``seconds``: what is left of the run's limit; None: only the tool's own. Raises
        CallError."""
        ...


Children = Callable[[UsableItem, Mapping[str, object], Chain, Limits, Event], dict[str, object]]
"""Runs a directive as a child, with the chain that it is to have and the most that it may use; its checked outputs."""
Ask = Callable[[Question], bool | None]
"""A person's answer; None: nobody can be asked here."""


class Clock(Protocol):
    def now(self) -> datetime:
        """The time, with a time zone."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow."""
        ...


class World(Struct, frozen=True):
    """All of them, for one run."""

    items: Items
    tools: Tools
    signer: Signer
    clock: Clock
    ask: Ask = lambda question: None
    """Asks a person, where a face has one."""
    children: Children | None = None
    """Runs directives as children; None: they start inline."""
    secrets: tuple[str, ...] = ()
    """Values that the log must not hold."""
