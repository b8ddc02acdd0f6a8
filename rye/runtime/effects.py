"""The interfaces through which a session has effects: items, tools, a person, a key, clocks. Each front end and each test
provides its own."""

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
from rye.runtime.results import SignResult

if TYPE_CHECKING:
    from rye.items.directive.model import Directive


class UsableItem(Struct, frozen=True, kw_only=True):
    """An item whose bytes were read once and verified; only these bytes are used from here on."""

    kind: str
    id: str
    version: str | None
    sha256: str
    """The hash of ``text`` as UTF-8."""
    signer: str | None
    """``SHA256:…`` of the key that signed the item; None for an unsigned own item."""
    text: str
    """The effective text."""
    overridden: bool
    """Whether the text contains changes by this user's overrides."""
    suffix: str
    """The suffix of its file's name, such as ``.py``."""
    description: str = ""
    keywords: str = ""
    """Its category and agent tools, for search."""
    directive: Directive | None = None
    """The parsed value of a directive."""
    level: Level | None = None
    """A directive's level in a chain of callers."""
    log: int | None = None
    """The number of its release's entry in the registry's log."""
    registry: str | None = None
    publisher: str = ""
    """Who publishes it, as grants name it (:func:`rye.workspace.trusting.project_changes.published_by`)."""
    needs: Needs = NOTHING
    """What a tool needs to be granted."""

    @property
    def label(self) -> str:
        """``kind:id@version``, without ``@version`` if it has none."""
        return f"{self.kind}:{self.id}@{self.version}" if self.version else f"{self.kind}:{self.id}"


class SearchRow(Struct, frozen=True):
    """One item that a search found."""

    id: str
    kind: str
    version: str | None
    description: str
    score: float


class Items(Protocol):
    """The items of a project, each checked as it is read (DESIGN 6.1)."""

    def resolve(self, kind: str, item_id: str) -> str:
        """Return the full id that an id resolves to. Raises RyeError ``no-such-item`` and ``ambiguous``."""
        ...

    def read(self, kind: str, item_id: str, version: str | None = None, *, runs: bool) -> UsableItem:
        """Read an item, either as text or, with ``runs``, to execute it: then its signature must be valid. Raises RyeError."""
        ...

    def search(self, kind: str, query: str, reads: Callable[[str], bool]) -> Sequence[SearchRow]:
        """Return the items of a kind that match the query, best match first. ``reads``: whether who searches may read the text of
        an item, by its id; other texts do not match."""
        ...

    def render(self, item: UsableItem, inputs: Mapping[str, object]) -> str:
        """Render the prompt of a directive. Raises RyeError for invalid inputs."""
        ...


class OwnFile(Struct, frozen=True):
    """The file of one of the project's own items, to be signed."""

    kind: str
    id: str
    path: str
    """Relative to the project's folder."""
    sha256: str
    """The hash of its bytes now."""
    shown: tuple[str, ...] = ()
    """What a person is shown of it: the lines that changed since it was signed last, and its cautions and alarms."""


class Signer(Protocol):
    """Signs with this user's key, which never leaves the process."""

    def find(self, kind: str, item_id: str) -> OwnFile:
        """Return the file of an own item. Raises RyeError; ``installed-item`` if it is not the project's own."""
        ...

    def sign(self, file: OwnFile) -> SignResult:
        """Sign exactly the bytes that the person approved. Raises RyeError."""
        ...


class ToolResult(Struct, frozen=True, kw_only=True):
    """The result of running a tool."""

    exit: int | None
    output: object
    """The JSON value that it printed."""
    truncated: bool
    seconds: float
    error: CallError | None = None
    """Why it failed; None: it did not."""
    ended_by_limit: bool = False
    """Whether it ran out of the seconds it was given."""
    stderr: str = ""
    """Its standard error, for the log."""
    refused: tuple[str, ...] = ()
    """What it was seen trying to do without permission: ``network HOST:PORT``, ``write PATH``."""


class Tools(Protocol):
    """Runs tools in a sandbox."""

    def check(self, item: UsableItem) -> None:
        """Check that the tool can run. Raises CallError ``sandbox-unavailable`` or ``not-runnable``."""
        ...

    def run(self, item: UsableItem, parameters: bytes, seconds: float | None, cancel: Event) -> ToolResult:
        """Run exactly the item's bytes. ``seconds``: what is left of the run's limit; None: only the tool's own limit
        applies. Raises CallError."""
        ...


Children = Callable[[UsableItem, Mapping[str, object], Chain, Limits, Event], dict[str, object]]
"""Runs a directive as a child run with this chain and these limits, and returns its checked outputs."""


BY_THE_HOST = "a person, asked by the host"
BY_THE_CLIENT = "answered by the client"


class Reply(Struct, frozen=True):
    """The answer to a question."""

    yes: bool
    by: str = BY_THE_HOST
    """Who answered, as the log says it."""


Ask = Callable[[Question], Reply | None]
"""Asks a person and returns the answer; None: no one can be asked here."""


class Clock(Protocol):
    """The time of day and a steady clock."""

    def now(self) -> datetime:
        """The current time, with a time zone."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back."""
        ...


class World(Struct, frozen=True, kw_only=True):
    """Everything through which one run has effects."""

    items: Items
    tools: Tools
    signer: Signer
    clock: Clock
    ask: Ask = lambda question: None
    """Asks a person; by default no one can be asked."""
    children: Children | None = None
    """Runs directives as child runs; None: they start inline."""
    secrets: tuple[str, ...] = ()
    """Values that the log must not hold."""
