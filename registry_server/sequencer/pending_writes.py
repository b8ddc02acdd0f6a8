"""What a batch knows about the tables and has not written yet, so that it queries and inserts for all its requests at
once.

Facts are read for the whole batch first and updated by what the batch itself appends. Rows wait until the ledger writes
them together. A refused request is undone by reverting its changes here; none of it was in a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rye.registry.protocol.wire import IndexLine

_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(frozen=True, slots=True)
class KnownRelease:
    """The columns of a release that admission needs."""

    position: int
    content: str
    """Digest over the bytes released."""


@dataclass(slots=True, kw_only=True)
class PendingWrites:
    """One transaction's facts and unwritten rows, with the steps that undo them."""

    texts: dict[tuple[str, bytes], int | None] = field(default_factory=dict)
    """Name and SHA-256 of a statement's text → its first position in the name's index."""
    names: dict[str, bool] = field(default_factory=dict)
    """Whether the name is taken."""
    folds: dict[str, str | None] = field(default_factory=dict)
    """A folded name → the name that folds to it."""
    releases: dict[tuple[str, str], KnownRelease | None] = field(default_factory=dict)
    """Name and version → the release."""
    reasons: dict[str, str | None] = field(default_factory=dict)
    """SHA-256 of a blob → why it was taken down."""
    keysets: dict[str, tuple[tuple[int, bytes], ...]] = field(default_factory=dict)
    """Namespace → position and note of each of its keysets, in order."""
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Table → rows to insert."""
    lines: dict[str, list[IndexLine]] = field(default_factory=dict)
    """Name → the lines of its index that are among the rows."""
    new_names: set[str] = field(default_factory=set)
    """Names that are among the rows, and in no table yet."""
    appended: list[tuple[bytes, bytes]] = field(default_factory=list)
    """Leaf and leaf hash of the entries that this transaction appended, written or not."""
    stale: set[str] = field(default_factory=set)
    """Items whose search entries must be rebuilt."""
    _undo: list[Callable[[], object]] = field(default_factory=list)

    def learn(self, facts: dict[_K, _V], key: _K, value: _V) -> None:
        """Change a fact because of an appended statement."""
        if key in facts:
            before = facts[key]
            self._undo.append(lambda: facts.__setitem__(key, before))
        else:
            self._undo.append(lambda: facts.pop(key, None))
        facts[key] = value

    def insert(self, table: str, row: dict[str, Any]) -> None:
        """Add a row to write later."""
        rows = self.rows.setdefault(table, [])
        rows.append(row)
        self._undo.append(lambda: rows and rows.pop())  # empty once it was written

    def add_line(self, name: str, line: IndexLine) -> None:
        """Add a line of an index, whose row waits to be written."""
        lines = self.lines.setdefault(name, [])
        lines.append(line)
        self._undo.append(lambda: lines and lines.pop())

    def add_leaf(self, leaf: bytes, hashed: bytes) -> None:
        """Add an appended entry."""
        self.appended.append((leaf, hashed))
        self._undo.append(self.appended.pop)

    def add(self, names: set[str], name: str) -> None:
        """Add a name to one of the batch's sets."""
        if name not in names:
            names.add(name)
            self._undo.append(lambda: names.discard(name))

    def mark(self) -> int:
        """Return the current state, for :meth:`take_back`."""
        return len(self._undo)

    def take_back(self, mark: int) -> None:
        """Undo everything since the mark. The database rolls back rows that were written meanwhile."""
        while len(self._undo) > mark:
            self._undo.pop()()

    def written(self) -> None:
        """All rows are in the tables: rows can no longer be undone here, facts can."""
        for rows in self.rows.values():
            rows.clear()
        for lines in self.lines.values():
            lines.clear()
        self.new_names.clear()
        self.stale.clear()

    def settled(self) -> None:
        """Make everything up to now final: it can no longer be taken back."""
        self._undo.clear()
        self.appended.clear()
