"""Who depends on an item: a table that is filled from the log as far as someone had to know it.

Publishing does not wait for it. A page that shows dependents first reads the entries that came since, many at a time and for a
bounded time; it says how far it got. The last few entries are read for each head and not written, so that looking at pages
hardly ever writes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

import sqlalchemy as sa
from msgspec import Struct

from registry_server.pages.kept import Kept
from registry_server.pages.limits import PAGES
from registry_server.pages.look import Look
from registry_server.storage import database
from registry_server.storage.prepared import Prepared
from registry_server.storage.schema import dependents, log_entries, registry, releases
from rye.items.identity import Identity
from rye.registry.protocol import notes, statements
from rye.registry.protocol.statements import Release

_CURSOR = "dependents"
_MARKS = (b"\ndepends_on ", b"\nrequires ")


class Dependent(Struct, frozen=True, order=True):
    """A release that says it depends on, or requires, another item."""

    name: str
    """``kind:id``."""
    version: str


class Dependents(Struct, frozen=True):
    """Those that the reader may see, the newest of each item, in the order of their names."""

    rows: tuple[Dependent, ...]
    more: bool
    """Whether there are others beyond the limit."""
    entries: int
    """The log was read so far. Fewer than the head's: others may be missing."""


def catch_up(engine: sa.Engine) -> None:
    """Read entries that came since into the table, for a bounded time."""
    until = time.monotonic() + PAGES.catch_up_seconds
    while _fill(engine) and time.monotonic() < until:
        pass


def dependents_of(look: Look, identity: Identity) -> Dependents:
    """Who depends on an item now. Withdrawn releases do not count."""
    target = str(identity)
    cursor = _cursor(look.connection)
    end = min(look.head.size, cursor + PAGES.catch_up_entries)
    found = _OF.rows(look.connection, {"target": target})
    is_whole = len(found) < PAGES.dependents
    for of, name, version in _tail(look, cursor, end):
        if of == target:
            found += _RELEASED.rows(look.connection, {"name": name, "version": version})
    newest: dict[str, tuple[int, str]] = {}
    for name, version, position in found:
        if look.may_read(name.partition(":")[2].partition("/")[0]) and position > newest.get(name, (-1, ""))[0]:
            newest[name] = (position, version)
    listed = [Dependent(name, newest[name][1]) for name in sorted(newest)]
    return Dependents(tuple(listed[: PAGES.rows]), len(listed) > PAGES.rows or not is_whole, end)


def _tail(look: Look, start: int, end: int) -> tuple[tuple[str, str, str], ...]:
    """``(target, name, version)`` of the entries that are not in the table yet."""
    if end <= start:
        return ()
    key = (look.site.origin, look.site.fingerprint, start, end)
    known = _tails.get(key)
    if known is None:
        known = tuple(_relations(look.ledger.leaves(start, end)))
        _tails.put(key, known)
    return known


_tails: Kept[tuple[str, str, int, int], tuple[tuple[str, str, str], ...]] = Kept(8)


def _relations(leaves: Iterable[bytes]) -> Iterator[tuple[str, str, str]]:
    for leaf in leaves:
        if not leaf.startswith(Release.TITLE.encode()) or not any(mark in leaf for mark in _MARKS):
            continue
        release = statements.parse(notes.parse(leaf).text)
        assert isinstance(release, Release)
        for relation in (*release.depends_on, *release.requires):
            if relation.identity is not None:
                yield str(relation.identity), str(release.identity), release.version


def _fill(engine: sa.Engine) -> bool:
    """Read some entries into the table; returns whether there may be others worth it."""
    with database.reader(engine) as connection:
        first = _cursor(connection)
        query = sa.select(log_entries.c.leaf).where(
            log_entries.c.position >= first, log_entries.c.position < first + PAGES.catch_up_entries
        )
        leaves = [bytes(leaf) for leaf in connection.scalars(query.order_by(log_entries.c.position))]
    if len(leaves) < PAGES.catch_up_entries:
        return False  # so few are read anew for each head
    found = sorted(set(_relations(leaves)))
    with database.change(engine) as connection:
        for target, name, version in found:
            connection.execute(_INSERT, {"target": target, "name": name, "version": version})
        if _cursor(connection) == first:  # else another process read them meanwhile, and wrote the same
            connection.execute(registry.delete().where(registry.c.key == _CURSOR))
            connection.execute(registry.insert().values(key=_CURSOR, value=str(first + len(leaves))))
    return True


def _cursor(connection: sa.Connection) -> int:
    return int(connection.scalar(sa.select(registry.c.value).where(registry.c.key == _CURSOR)) or 0)


_INSERT = sa.text(
    "INSERT INTO dependents (target, name, version) VALUES (:target, :name, :version) ON CONFLICT DO NOTHING"
)
_OF = Prepared(
    sa.select(releases.c.name, releases.c.version, releases.c.position)
    .join(
        dependents,
        sa.and_(dependents.c.name == releases.c.name, dependents.c.version == releases.c.version),
    )
    .where(dependents.c.target == sa.bindparam("target"), releases.c.yanked.is_(sa.false()))
    .order_by(releases.c.name, releases.c.version)
    .limit(PAGES.dependents)
)
_RELEASED = Prepared(
    sa.select(releases.c.name, releases.c.version, releases.c.position).where(
        releases.c.name == sa.bindparam("name"),
        releases.c.version == sa.bindparam("version"),
        releases.c.yanked.is_(sa.false()),
    )
)
