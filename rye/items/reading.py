"""What goes into a kind's parser and what comes out. :mod:`rye.items.readers` says which functions a kind's module has."""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import Struct, field

from rye.items.agent_tools import AgentTools
from rye.items.consented import HookAction, Run
from rye.items.rights import NamedItem
from rye.text.diagnostics import Diagnostic, has_errors


class Source(Struct, frozen=True):
    """One file's text and where it came from. ``text`` has LF line endings and no BOM (:func:`rye.text.content.decode`)."""

    text: str
    path: str = ""
    """The path as the person gave it; only for messages."""
    name: str | None = None
    """The name that the path implies: the stem, or a skill's folder. None: unknown; checks against it are skipped."""
    category: str | None = None
    """The folders below the kind's folder, joined by ``/``; ``""`` directly in it; None: not in a kind's folder."""
    attached: tuple[str, ...] | None = None
    """Relative paths of the attached files (skills). None: unknown; checks of links are skipped."""


class ReadOptions(Struct, frozen=True):
    """How a project or a command changes the rules."""

    tools: frozenset[str] = frozenset()
    """Agent tools that the project declares besides the format's own (DECISIONS Agents 8)."""
    publishing: bool = False
    """Apply the rules that only concern published items (DECISIONS Agents 2, Roles 3, Skills 2)."""
    foreign: bool = False
    """The item is of a git repository or a folder of others: what every agent program accepts is a warning, not an error
    (docs/how-to/sources.md)."""


FOREIGN = ReadOptions(foreign=True)
"""For the items of a git repository or a folder of others."""


class Dependency(Struct, frozen=True):
    """A relation to another item: ``relation`` is depends_on, requires, conflicts_with, suggests, used_by or example_of."""

    relation: str
    reference: str
    """The id or bare name as written, possibly with a ``kind:`` prefix, never with a range."""
    range: str | None = None
    """The version range as written; None: any version."""
    line: int | None = None


KEYWORD_LETTERS = 1_000
"""Letters of :attr:`Metadata.keywords`."""


class Metadata(Struct, frozen=True, kw_only=True):
    """What resolution, search and consent need to know about an item of any kind, taken from its bytes alone."""

    name: str
    version: str | None
    """Exact ``X.Y.Z[-pre][+build]``; None if the file has none (``rye publish --version`` then supplies it)."""
    description: str
    category: str | None = None
    """The category that the file declares; None if its format has none."""
    dependencies: tuple[Dependency, ...] = ()
    capabilities: tuple[str, ...] = ()
    """``rye.…`` capability patterns, sorted, without duplicates."""
    hooks: tuple[HookAction, ...] = ()
    agent_tools: AgentTools | None = None
    """Tools of the agent program itself (an agent's ``tools``, a skill's ``allowed-tools``): shown, never translated. None: it
    names none."""
    licence: str | None = None
    """The licence as the file states it; None: it states none."""
    runs: tuple[Run, ...] = ()
    """What can run in its own file. Attached files are read elsewhere (:func:`rye.items.runs.attached_runs`)."""
    names: tuple[NamedItem, ...] = ()
    """The items that it names besides its relations (:mod:`rye.items.named`)."""

    @property
    def keywords(self) -> str:
        """Its category and agent tools, for search: at most :data:`KEYWORD_LETTERS` letters."""
        words = [self.category or "", *(self.agent_tools.names if self.agent_tools else ())]
        return " ".join(word for word in words if word)[:KEYWORD_LETTERS]


V_co = TypeVar("V_co", covariant=True)


class Reading(Struct, Generic[V_co], frozen=True):
    """The result of reading a file. ``value`` and ``metadata`` are None if the file does not parse far enough."""

    value: V_co | None
    metadata: Metadata | None
    diagnostics: tuple[Diagnostic, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return not has_errors(self.diagnostics)


class Fixed(Struct, frozen=True):
    """The new text, and a list of changes in the order they were made. No changes: the text is the original."""

    text: str
    changes: tuple[str, ...]
