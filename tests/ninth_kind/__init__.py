"""A ninth kind, for tests only, added as an author would: one row here, one module (:mod:`tests.ninth_kind.checklist`)."""

from __future__ import annotations

from rye.items import kinds
from rye.items.kinds import Kind, Sign

ROW = Kind(
    name="checklist",
    summary="what to tick off before something is done",
    folder="checklists",
    formats={".md": "markdown"},
    module="tests.ninth_kind.checklist",
    sign=Sign(r"^tasks[ \t]*:", "frontmatter", rank=3),
)


def added() -> None:
    """Add the row to this process's table permanently, for programs that a test starts."""
    kinds.TABLE = (*kinds.TABLE, ROW)
