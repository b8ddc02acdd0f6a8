"""The table of kinds. A new kind is one module and one row of :data:`TABLE`; no other code asks which kind an item is.

Kinds and folders: DESIGN §1. Comment styles of the signature line: DESIGN §4. What a kind's module provides: the protocols of
:mod:`rye.items.reading`. :data:`KINDS` is a view of the table, never a copy, so a new row appears everywhere at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Literal, cast

from msgspec import Struct

if TYPE_CHECKING:
    from rye.items.readers import Fixer, GraphReader, KindReader, PromptReader, SetRules

Format = Literal["markdown", "hash", "slashes", "yaml", "toml"]
"""How a file carries its signature line (:mod:`rye.signing.signature_line`): Markdown, code with ``#`` or ``//``, YAML, TOML."""
OlderPart = Literal["directive element", "below shebang", "below frontmatter"]
"""What a kind's oldest signatures cover, if not the whole file (:mod:`rye.signing.verification`)."""


class AlsoIn(Struct, frozen=True):
    """A folder of another kind, and the title (a regular expression for the complete first H1) that marks files of this kind
    there."""

    folder: str
    title: str


class Sign(Struct, frozen=True):
    """What identifies a file of the kind outside all kinds' folders."""

    pattern: str
    """A regular expression; ``^`` and ``$`` match at line boundaries."""
    within: Literal["text", "frontmatter", "metadata"] = "text"
    """Where to search: everywhere; in the frontmatter; or there and, without frontmatter, in a leading ``yaml`` fence."""
    rank: int = 0
    """Signs are tried in this order; a general one comes after the specific ones that it would also match."""
    suffixes: tuple[str, ...] = (".md", ".txt")
    """Only files with these endings are searched."""
    ignore_case: bool = False


class NoPrompt(Struct, frozen=True):
    """Why items of a kind have no prompt, and what to do instead."""

    message: str
    hint: str


class Kind(Struct, frozen=True, kw_only=True):
    """One row: where items of the kind are, what applies to all of them, and which modules implement the rest."""

    name: str
    summary: str
    """What such an item is, for lists of kinds; no capital, no full stop."""
    folder: str
    """The folder below ``.ai/``."""
    formats: Mapping[str, Format]
    """The file endings of the kind, that of new files first, each with its style of signature line."""
    module: str
    """The reader's module (:class:`rye.items.readers.KindReader`), imported only when a file of the kind is read."""
    nested: bool = False
    """Whether folders below ``folder`` form a category (``directives/rye/core/x.md``); otherwise items are directly in it."""
    main_file: str | None = None
    """For a kind whose items are folders: the signed file. Every other file in the folder is attached."""
    set_rules: str | None = None
    """The module with rules across the items of a folder (:class:`rye.items.readers.SetRules`), or None."""
    fixer: str | None = None
    """The module that updates files to the current rules (:class:`rye.items.readers.Fixer`), or None."""
    graph: str | None = None
    """The module that draws items as graphs (:class:`rye.items.readers.GraphReader`), or None if they are not graphs."""
    telling: bool = False
    """Whether the ending alone identifies the kind, wherever the file is."""
    sign: Sign | None = None
    """What else identifies it; None: only the folder does."""
    also_in: AlsoIn | None = None
    """Another kind's folder that can also contain files of this kind."""
    older_part: OlderPart | None = None
    overridable: bool = False
    """Whether ``.overrides.md`` files apply: the item's own file is Markdown. For an item that is a folder, ``.files.toml`` files
    apply to its attached files."""
    customized_with: str | None = None
    """For a kind that is customized differently: the command, with ``{name}`` for the last segment of the item's id."""
    names_items: bool = False
    """Whether a text of the kind can name other items besides its relations (:mod:`rye.items.named`)."""
    limited: Literal["by Rye", "by its tools", "to its members"] = "by its tools"
    """What limits what an item may use: Rye, which grants only the rights that it asks for; the tools that it names for the agent
    program, if it does; or, for a list of other items, only those."""
    says_itself: tuple[str, ...] = ()
    """For a kind that asks for little: fields of its value, at least one of which a text has that was written as this kind."""
    read_from: tuple[str, ...] = ()
    """Kinds whose texts this kind's reader takes as its own, too. A signature covers the text alone, so such a text is never run
    as this kind, whatever folder it is in."""
    suffixes_read_from: Mapping[str, tuple[str, ...]] = {}
    """The same for suffixes that have one style of signature line, but are run by different programs."""
    item_type: bool = False
    """Whether actions and capabilities name items of the kind (``rye.execute.tool.…``: DESIGN §7)."""
    prompt: Literal["text", "inputs"] | NoPrompt = "text"
    """How the item becomes a prompt: its module builds it (:class:`rye.items.readers.PromptReader`), ``rye.rendering`` fills in
    inputs, or it has none."""

    def change_command(self, identifier: str) -> str:
        """The command with which a person changes an installed item of the kind so that upgrades keep the change. ``identifier``:
        of the item, without its kind. Every hint takes it from here."""
        if self.overridable:
            return f"rye override new {identifier}"
        if self.customized_with is not None:
            return self.customized_with.format(name=identifier.rpartition("/")[2])
        return f"rye fork {self.name}:{identifier}"

    @property
    def is_customizable(self) -> bool:
        """Whether a change is put over an installed item of the kind. Otherwise it has to become an own item."""
        return self.overridable or self.customized_with is not None

    def changed_by(self, identifier: str) -> str:
        """The sentence that says how to change an installed item of the kind."""
        how = "To change it, use" if self.is_customizable else "To change it, make it your own:"
        return f"{how} `{self.change_command(identifier)}`."

    def kept_by(self, identifier: str) -> str:
        """How a change to an installed item of the kind survives upgrades: the end of a hint whose last sentence says how to
        restore the item, from the mark that follows that sentence."""
        does = "makes a change that upgrades keep" if self.is_customizable else "makes it your own, to change"
        return f"; after that, `{self.change_command(identifier)}` {does}."

    @property
    def endings(self) -> tuple[str, ...]:
        """What the name of the item's own file can end with: the suffixes, or the main file's name."""
        return tuple(self.formats)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What follows the item's name in its file's name; empty if the item is a folder."""
        return () if self.main_file is not None else tuple(self.formats)

    def load(self) -> KindReader[object]:
        """Import the kind's reader. Pass only values from its own ``read`` to its other functions."""
        return cast("KindReader[object]", import_module(self.module))

    def load_set_rules(self) -> SetRules[object] | None:
        """Import the rules across a folder's items, or return None."""
        return cast("SetRules[object]", import_module(self.set_rules)) if self.set_rules else None

    def load_fixer(self) -> Fixer | None:
        """Import the module that updates files to the current rules, or return None."""
        return cast("Fixer", import_module(self.fixer)) if self.fixer else None

    def load_graph(self) -> GraphReader[object] | None:
        """Import the module that draws items as graphs, or return None."""
        return cast("GraphReader[object]", import_module(self.graph)) if self.graph else None

    def load_prompt(self) -> PromptReader[object] | None:
        """Import the module that builds prompts, or return None if it is not the kind's own."""
        return cast("PromptReader[object]", import_module(self.module)) if self.prompt == "text" else None


TABLE: tuple[Kind, ...] = (
    Kind(
        name="directive",
        summary="a workflow for an agent: inputs, rights and steps",
        folder="directives",
        formats={".md": "markdown"},
        module="rye.items.directive.reader",
        names_items=True,
        nested=True,
        fixer="rye.items.directive.fix",
        read_from=("knowledge", "agent", "skill"),
        sign=Sign(r"^ {0,3}(`{3,}|~{3,}) *xml\b[^\n]*\n\s*<directive\b", rank=1, ignore_case=True),
        older_part="directive element",
        overridable=True,
        item_type=True,
        limited="by Rye",
        prompt="inputs",
    ),
    Kind(
        name="tool",
        summary="code that agents run",
        folder="tools",
        formats={".py": "hash", ".js": "slashes", ".ts": "slashes", ".sh": "hash", ".yaml": "yaml"},
        module="rye.items.tool.reader",
        nested=True,
        sign=Sign("__version__", rank=5, suffixes=(".py", ".js", ".ts", ".sh", ".yaml")),
        suffixes_read_from={".sh": (".py",)},
        older_part="below shebang",
        item_type=True,
        limited="by Rye",
        prompt=NoPrompt("A tool is code that is run, not text for an agent.", "`rye show` prints its metadata."),
    ),
    Kind(
        name="knowledge",
        summary="what agents should know about a subject",
        folder="knowledge",
        formats={".md": "markdown"},
        module="rye.items.knowledge",
        nested=True,
        set_rules="rye.items.knowledge",
        says_itself=("entry_type", "category"),
        read_from=("agent",),
        sign=Sign(r"^(?:entry_type|title|tags)[ \t]*:", "metadata", rank=4),
        older_part="below frontmatter",
        overridable=True,
        item_type=True,
    ),
    Kind(
        name="agent",
        summary="one agent of a state machine: prompt, tools and transitions",
        folder="agents",
        formats={".md": "markdown"},
        module="rye.items.agent.reader",
        names_items=True,
        set_rules="rye.items.agent.closed_set",
        sign=Sign(r"^(?:whenToUse|transitions)[ \t]*:", "frontmatter", rank=3),
        overridable=True,
    ),
    Kind(
        name="role",
        summary="one role of a team: duties, rights and hand-offs",
        folder="roles",
        formats={".md": "markdown"},
        module="rye.items.role.reader",
        names_items=True,
        also_in=AlsoIn("agents", r".+ — Nexus SDLC Agent"),
        read_from=("directive", "knowledge", "agent", "skill"),
        set_rules="rye.items.role.closed_set",
        sign=Sign(r"^# .+ — Nexus SDLC Agent[ \t]*$", rank=2),
        overridable=True,
    ),
    Kind(
        name="formula",
        summary="steps of work and what each one needs",
        folder="formulas",
        formats={".formula.toml": "toml"},
        module="rye.items.formula.reader",
        names_items=True,
        graph="rye.items.formula.graph",
        telling=True,
        customized_with="rye overlay edit {name}",
        prompt="inputs",
    ),
    Kind(
        name="skill",
        summary="instructions for one task, with the files that they use",
        folder="skills",
        formats={"SKILL.md": "markdown"},
        module="rye.items.skill.reader",
        main_file="SKILL.md",
        read_from=("agent",),
        telling=True,
        overridable=True,
    ),
    Kind(
        name="bundle",
        summary="items at exact versions, published and installed as one",
        folder="bundles",
        formats={".bundle.toml": "toml"},
        module="rye.items.bundle",
        telling=True,
        limited="to its members",
        prompt=NoPrompt("A bundle names other items and has no text of its own.", "Render one of its members."),
    ),
)
"""The rows, in the order in which kinds are listed and tried."""


class _Index(Struct, frozen=True):
    """The rows of a table by name and by folder."""

    rows: tuple[Kind, ...]
    by_name: dict[str, Kind]
    by_folder: dict[str, Kind]


_index = _Index((), {}, {})


def _indexed() -> _Index:
    """The index of the table in its current state."""
    global _index
    if _index.rows is not TABLE:
        _index = _Index(TABLE, {row.name: row for row in TABLE}, {row.folder: row for row in TABLE})
    return _index


class Kinds(Mapping[str, Kind]):
    """The table by name, in its order."""

    def __getitem__(self, name: str) -> Kind:
        return _indexed().by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in _indexed().by_name

    def __iter__(self) -> Iterator[str]:
        return iter(_indexed().by_name)

    def __len__(self) -> int:
        return len(TABLE)

    def in_folder(self, folder: str) -> Kind | None:
        """Return the kind whose items are in a folder of that name, or None."""
        return _indexed().by_folder.get(folder)

    def main_files(self) -> tuple[str, ...]:
        """Names of files that make their folder an item."""
        return tuple(kind.main_file for kind in TABLE if kind.main_file is not None)

    def overridable(self) -> tuple[str, ...]:
        """The kinds that ``.overrides.md`` files apply to."""
        return tuple(kind.name for kind in TABLE if kind.overridable)

    def names(self) -> str:
        """All names, for messages: ``directive, tool, …``."""
        return ", ".join(self)


KINDS = Kinds()
