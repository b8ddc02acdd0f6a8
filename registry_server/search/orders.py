"""Orders of lists and of search results.

A search ranks first, with bounded work; another order rearranges only what it ranked. So the order never decides what is found,
and a result that matches next to nothing cannot come first because it is popular.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeVar

import sqlalchemy as sa

from registry_server.storage.prepared import Among, Prepared
from registry_server.storage.schema import documents, listings

Sort = Literal["used", "newest", "name"]
"""By use of other publishers, by what changed last, or by name."""
SORTS: tuple[Sort, ...] = ("used", "newest", "name")
Order = Literal["relevance", "used", "newest", "name"]
ORDERS: tuple[Order, ...] = ("relevance", *SORTS)


def allowed(sort: Sort, *, is_limited: bool) -> Sort:
    """The order that a reader gets. ``is_limited``: who may see only some namespaces gets the newest in place of the most used,
    since the order must not tell what others use."""
    return "newest" if sort == "used" and is_limited else sort


class Numbered(Protocol):
    """What the orders read of a document."""

    @property
    def number(self) -> int:
        """Newer releases have larger numbers."""

    @property
    def id(self) -> str:
        """The id, without the kind."""

    @property
    def kind(self) -> str:
        """The kind."""


_Found = TypeVar("_Found", bound=Numbered)


def in_order(connection: sa.Connection, found: list[tuple[float, _Found]], sort: Sort) -> list[tuple[float, _Found]]:
    """Rearrange ranked documents."""
    if sort == "name":
        return sorted(found, key=lambda each: (each[1].id, each[1].kind))
    if sort == "newest":
        return sorted(found, key=lambda each: -each[1].number)
    numbers = [row.number for _, row in found]
    uses: dict[int, Any] = {row[0]: row[1:] for row in _USES.rows(connection, {"some": numbers})} if numbers else {}
    return sorted(found, key=lambda each: (uses.get(each[1].number, (0, 0)), each[1].number), reverse=True)


_USES = Prepared(
    sa.select(documents.c.number, listings.c.publishers, listings.c.used_by)
    .join_from(
        documents, listings, sa.and_(listings.c.name == documents.c.name, listings.c.version == documents.c.version)
    )
    .where(Among(documents.c.number))
)
