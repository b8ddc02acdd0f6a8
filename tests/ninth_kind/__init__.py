"""A ninth kind that only tests have, as its author would add it: one row here, one module (:mod:`tests.ninth_kind.checklist`)."""

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
    """Put the row into the table of this process for good: for programs that a test starts."""
    kinds.TABLE = (*kinds.TABLE, ROW)
