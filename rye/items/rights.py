"""What an item is allowed to do, what it calls and what it names, as values with their position in the file (DECISIONS Directives
6, 7; :mod:`rye.items.named`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct


class Permission(Struct, frozen=True):
    """One capability, and where it is declared."""

    capability: str
    line: int
    column: int


class Call(Struct, frozen=True):
    """One action that the process calls, in either notation (DECISIONS Directives 7).

    ``item_type`` and ``item_id`` are as written, placeholders included; None if missing.
    """

    primary: str
    item_type: str | None
    item_id: str | None
    line: int
    column: int


class NamedItem(Struct, frozen=True):
    """One item that a text names, where it is named first."""

    kind: str
    id: str
    """As written: a complete id, or the bare name of an item in the same namespace."""
    line: int | None
    verb: str
    """How it is named: ``calls``, ``has a right for``, ``has a hook for``, ``hands over to`` or ``is made from``."""


@runtime_checkable
class Caller(Protocol):
    """A kind's value that declares rights and makes calls. Validation compares the two."""

    @property
    def permissions(self) -> Sequence[Permission]:
        """The declared capabilities."""
        ...

    @property
    def calls(self) -> Sequence[Call]:
        """The calls in order."""
        ...
