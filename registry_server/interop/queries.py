"""The database queries behind the responses for other programs."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.elements import ColumnElement

from registry_server.sequencer.search_offers import like
from registry_server.storage.prepared import Among, Prepared
from registry_server.storage.schema import log_entries, name_entries, names, releases


class Below(ColumnElement[bool]):
    """Whether a name begins with a prefix. :func:`below` returns the values.

    SQLite's index sorts by bytes, so a range finds these names. PostgreSQL's index sorts by locale and needs ``LIKE``.
    """

    inherit_cache = False
    type: Any = sa.types.NullType()

    def __init__(self, column: sa.ColumnElement[Any]) -> None:
        self.bytes_between = sa.and_(column >= sa.bindparam("low"), column < sa.bindparam("high"))
        self.text_like = column.like(sa.bindparam("pattern"), escape="!")


@compiles(Below, "sqlite")
def _below_bytes(element: Below, compiler: Any, **options: Any) -> str:
    return str(compiler.process(element.bytes_between, **options))


@compiles(Below, "postgresql")
def _below_like(element: Below, compiler: Any, **options: Any) -> str:
    return str(compiler.process(element.text_like, **options))


def below(prefix: str) -> dict[str, object]:
    """Return the values for a prefix. Its last character must not occur in names."""
    return {"low": prefix, "high": f"{prefix[:-1]}{chr(ord(prefix[-1]) + 1)}", "pattern": f"{like(prefix)}%"}


COUNT_NAMES = Prepared(sa.select(sa.func.count(sa.distinct(releases.c.name))).where(Below(releases.c.name)))
AVAILABLE = Prepared(
    sa.select(releases.c.name, releases.c.version, releases.c.position)
    .where(
        Below(releases.c.name),
        releases.c.yanked.is_(sa.false()),
        releases.c.position < sa.bindparam("shown"),
    )
    .order_by(releases.c.position)
)
"""Releases that are not withdrawn and that the current head covers."""
ONE_AVAILABLE = Prepared(
    sa.select(releases.c.version, releases.c.position)
    .where(
        releases.c.name == sa.bindparam("name"),
        releases.c.yanked.is_(sa.false()),
        releases.c.position < sa.bindparam("shown"),
    )
    .order_by(releases.c.position)
)
SKILL_NAMES = Prepared(
    sa.select(releases.c.name)
    .where(
        Below(releases.c.name),
        releases.c.name.like(sa.bindparam("called"), escape="!"),
        releases.c.yanked.is_(sa.false()),
        releases.c.position < sa.bindparam("shown"),
    )
    .distinct()
)
KNOWN_SKILLS = Prepared(
    sa.select(releases.c.name)
    .where(Below(releases.c.name), releases.c.name.like(sa.bindparam("called"), escape="!"))
    .distinct()
)
"""Including withdrawn skills."""
ONE_NAME = Prepared(sa.select(names.c.deprecated).where(names.c.name == sa.bindparam("name")))
LEAVES = Prepared(sa.select(log_entries.c.position, log_entries.c.leaf).where(Among(log_entries.c.position)))
NAMES_WITH = Prepared(
    sa.select(name_entries.c.name)
    .join(log_entries, log_entries.c.position == name_entries.c.position)
    .where(
        log_entries.c.position >= sa.bindparam("start"),
        log_entries.c.leaf >= sa.bindparam("low"),
        log_entries.c.leaf < sa.bindparam("high"),
    )
    .distinct()
)
"""Names with an entry at or after a position whose bytes are in a range: entries with one title."""
