"""What an item is allowed to do and what it calls, as values with their position in the file (DECISIONS Directives 6, 7)."""

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
