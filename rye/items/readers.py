"""What each kind's module provides: the contract with the table of kinds.

Every kind has a :class:`KindReader`. The table says which of the others a kind has: :class:`PromptReader`,
:class:`GraphReader`, :class:`SetRules`, :class:`Fixer`. The modules themselves implement these protocols: their functions are
the methods. Only type checkers import this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

from rye.items.reading import Fixed, Reading, ReadOptions, Source
from rye.text.diagnostics import Diagnostic

V = TypeVar("V")
V_contra = TypeVar("V_contra", contravariant=True)


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
