"""What goes into a parser and what comes out: the contract between the table of kinds and each kind's modules.

Every kind has a :class:`KindReader`. What only some kinds have, the row names or leaves out: :class:`PromptReader`,
:class:`GraphReader`, :class:`SetRules`, :class:`Fixer`.
The modules themselves fulfil these protocols: their functions are the methods.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, Literal, Protocol, TypeVar

from msgspec import Struct, field

from rye.items.agent_tools import AgentTools
from rye.text.diagnostics import Diagnostic, has_errors


class Source(Struct, frozen=True):
    """One file's text and where it stood. ``text`` has LF line endings and no BOM (:func:`rye.text.content.decode`)."""

    text: str
    path: str = ""
    """As the person gave it; for messages only."""
    name: str | None = None
    """The name that the file's place implies: its stem, or a skill's folder. None: unknown, checks against it are skipped."""
    category: str | None = None
    """The folders below the kind's folder, joined by ``/``; ``""`` directly in it; None: the file is not in a kind's folder."""
    attached: tuple[str, ...] | None = None
    """Relative paths of the files attached (skills). None: not looked for, checks of links are skipped."""


class ReadOptions(Struct, frozen=True):
    """What the project adds to the rules."""

    tools: frozenset[str] = frozenset()
    """Agent tools that the project knows beyond the format's own (DECISIONS Agents 8)."""
    publishing: bool = False
    """Apply the rules that hold only for what is published (DECISIONS Agents 2, Roles 3, Skills 2)."""


class Dependency(Struct, frozen=True):
    """One relation to another item: ``relation`` is depends_on, requires, conflicts_with, suggests, used_by or example_of."""

    relation: str
    reference: str
    """The id or bare name as written, possibly with a ``kind:`` prefix; never with a range."""
    range: str | None = None
    """The version range as written; None: any."""
    line: int | None = None


class HookAction(Struct, frozen=True, forbid_unknown_fields=True):
    """A hook as far as consent is concerned: when it fires and exactly what it would execute."""

    when: str
    item_type: str
    item_id: str
    inputs: tuple[tuple[str, str], ...] = ()


RunKind = Literal["attached-file", "frontmatter-hook", "mcp-server", "inline-command", "tool-code", "tool-needs"]


class Run(Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """One thing of an item that can run (:mod:`rye.items.runs`). Another byte, place or way to run makes it another run."""

    what: RunKind
    where: str
    """The attached file's path, the key (``hooks.PreToolUse``, ``mcpServers.db``, ``network``), or the item's own file."""
    action: str
    """The exact command or setting; of a file what makes it run (``executable``, the shebang, ``script``), of a tool its
    language. A long one is cut: the hash is of the whole."""
    sha256: str
    """Of the file's bytes, or of the whole action as UTF-8."""


class Metadata(Struct, frozen=True):
    """What resolution, search and consent need to know of an item of any kind, taken from its bytes alone."""

    name: str
    version: str | None
    """Exact ``X.Y.Z[-pre][+build]``; None where the file carries none (``rye publish --version`` then gives it)."""
    description: str
    category: str | None = None
    """As the file declares it; None where its format has no category."""
    dependencies: tuple[Dependency, ...] = ()
    capabilities: tuple[str, ...] = ()
    """``rye.…`` capability patterns, sorted, without duplicates."""
    hooks: tuple[HookAction, ...] = ()
    agent_tools: AgentTools | None = None
    """Tools of the agent program itself (an agent's ``tools``, a skill's ``allowed-tools``): shown, never translated. None: it
    names none."""
    runs: tuple[Run, ...] = ()
    """What of its own file can run. Attached files are not read here (:func:`rye.items.runs.attached_runs`)."""


V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)
V_contra = TypeVar("V_contra", contravariant=True)


class Reading(Struct, Generic[V_co], frozen=True):
    """What reading one file gave. ``value`` and ``metadata`` are None when the file does not parse far enough to have them."""

    value: V_co | None
    metadata: Metadata | None
    diagnostics: tuple[Diagnostic, ...] = field(default=())

    @property
    def ok(self) -> bool:
        return not has_errors(self.diagnostics)


class Fixed(Struct, frozen=True):
    """The new text, and what was changed in the order it was done. No changes: the text is the one given."""

    text: str
    changes: tuple[str, ...]


class KindReader(Protocol[V]):
    """What every kind's module offers. ``V`` is the kind's own value, such as :class:`rye.items.agent.model.Agent`."""

    def read(self, source: Source, options: ReadOptions, /) -> Reading[V]:
        """Read one file. Never raises for bad content: that is what diagnostics are for."""
        ...

    def as_json(self, value: V, /) -> dict[str, object]:
        """The fields of ``rye show``: stable, fields are only ever added."""
        ...

    def template(self, name: str, category: str, author: str | None, /) -> str:
        """What ``rye new`` writes: a file that conforms. ``category`` is empty for kinds without; ``author`` may be unknown.

        Raises UsageError for a name that no item of the kind can have.
        """
        ...


class PromptReader(Protocol[V_contra]):
    """A kind whose prompt needs nothing but the item itself."""

    def prompt(self, value: V_contra, text: str, /) -> str:
        """What an agent gets. ``text`` is the whole file without its signature line."""
        ...


class SetRules(Protocol[V_contra]):
    """Rules across the items of one kind in one folder, a closed set (DECISIONS Agents 11)."""

    def check_set(
        self, readings: Mapping[str, Reading[V_contra]], options: ReadOptions, /
    ) -> Mapping[str, tuple[Diagnostic, ...]]:
        """Findings by path. A file without a value is not a member of the set."""
        ...


class GraphReader(Protocol[V_contra]):
    """A kind whose items are graphs, which ``rye show`` draws; ``as_json`` then has it under ``graph``."""

    def as_text(self, value: V_contra, /) -> str: ...

    def as_mermaid(self, value: V_contra, /) -> str: ...


class Fixer(Protocol):
    """A kind whose files can be brought to today's rules."""

    def fix(self, text: str, source: Source, /) -> Fixed:
        """Change what has one answer. ``text`` may have a BOM and CR LF; of ``source`` only name and category are used."""
        ...
