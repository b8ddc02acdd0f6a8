"""What goes into a parser and what comes out: the contract between the table of kinds and each kind's modules.

Every kind has a :class:`KindReader`. The table says which of the others a kind has: :class:`PromptReader`,
:class:`GraphReader`, :class:`SetRules`, :class:`Fixer`.
The modules themselves implement these protocols: their functions are the methods.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, Literal, Protocol, TypeVar

from msgspec import Struct, field

from rye.items.agent_tools import AgentTools
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


class Dependency(Struct, frozen=True):
    """A relation to another item: ``relation`` is depends_on, requires, conflicts_with, suggests, used_by or example_of."""

    relation: str
    reference: str
    """The id or bare name as written, possibly with a ``kind:`` prefix, never with a range."""
    range: str | None = None
    """The version range as written; None: any version."""
    line: int | None = None


class HookAction(Struct, frozen=True, forbid_unknown_fields=True):
    """A hook as consent sees it: when it fires and exactly what it executes."""

    when: str
    item_type: str
    item_id: str
    inputs: tuple[tuple[str, str], ...] = ()


RunKind = Literal["attached-file", "frontmatter-hook", "mcp-server", "inline-command", "tool-code", "tool-needs"]


class Run(Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """One part of an item that can run (:mod:`rye.items.runs`). A change of bytes, place or way to run makes it another run."""

    what: RunKind
    where: str
    """The attached file's path, the key (``hooks.PreToolUse``, ``mcpServers.db``, ``network``), or the item's own file."""
    action: str
    """The exact command or setting; for a file, what makes it run (``executable``, the shebang, ``script``); for a tool, its
    language. A long one is cut, but the hash covers all of it."""
    sha256: str
    """The hash of the file's bytes, or of the whole action as UTF-8."""


class Metadata(Struct, frozen=True):
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
    runs: tuple[Run, ...] = ()
    """What can run in its own file. Attached files are read elsewhere (:func:`rye.items.runs.attached_runs`)."""


V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)
V_contra = TypeVar("V_contra", contravariant=True)


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


class KindReader(Protocol[V]):
    """What every kind's module provides. ``V`` is the kind's own value, such as :class:`rye.items.agent.model.Agent`."""

    def read(self, source: Source, options: ReadOptions, /) -> Reading[V]:
        """Read one file. Never raises for bad content; diagnostics report it."""
        ...

    def as_json(self, value: V, /) -> dict[str, object]:
        """Return the fields for ``rye show``. The form is stable: fields are only ever added."""
        ...

    def template(self, name: str, category: str, author: str | None, /) -> str:
        """Return the file that ``rye new`` writes. It is valid. ``category`` is empty for kinds without; ``author`` can be None.

        Raises UsageError for a name that no item of the kind can have.
        """
        ...


class PromptReader(Protocol[V_contra]):
    """A kind whose prompt depends only on the item itself."""

    def prompt(self, value: V_contra, text: str, /) -> str:
        """Return the text for an agent. ``text`` is the whole file without its signature line."""
        ...


class SetRules(Protocol[V_contra]):
    """Rules across the items of one kind in one folder, a closed set (DECISIONS Agents 11)."""

    def check_set(
        self, readings: Mapping[str, Reading[V_contra]], options: ReadOptions, /
    ) -> Mapping[str, tuple[Diagnostic, ...]]:
        """Return findings by path. Files without a value are not members of the set."""
        ...


class GraphReader(Protocol[V_contra]):
    """A kind whose items are graphs that ``rye show`` draws; ``as_json`` then includes ``graph``."""

    def as_text(self, value: V_contra, /) -> str:
        """Return the graph as text for a terminal."""
        ...

    def as_mermaid(self, value: V_contra, /) -> str:
        """Return the graph as a Mermaid diagram."""
        ...


class Fixer(Protocol):
    """A kind whose files can be updated to the current rules."""

    def fix(self, text: str, source: Source, /) -> Fixed:
        """Fix what has exactly one fix. ``text`` may have a BOM and CR LF. Of ``source``, only name and category are used."""
        ...
