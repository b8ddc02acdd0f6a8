"""The items that depend on an item: a table that pages fill from the log when they need it.

Publishing does not wait for the table. A page that shows dependents first reads new log entries into it, in batches and
for a bounded time, and says how far it got. The last few entries are read once per head without being written, so
viewing pages rarely writes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from msgspec import Struct

from registry_server.pages.limits import PAGES
from registry_server.pages.lru_cache import LruCache
from registry_server.pages.registry_view import RegistryView
from registry_server.storage import database
from registry_server.storage.prepared import Prepared
from registry_server.storage.schema import dependents, log_entries, registry, releases
from rye.items.identity import Identity
from rye.registry.protocol import notes, statements
from rye.registry.protocol.statements import Release

_CURSOR = "dependents"
_MARKS = (b"\ndepends_on ", b"\nrequires ")


class Dependent(Struct, frozen=True, order=True):
    """A release that depends on or requires another item."""

    name: str
    """``kind:id``."""
    version: str


class Dependents(Struct, frozen=True):
    """The dependents that the reader may see: the newest release of each item, sorted by name."""

    rows: tuple[Dependent, ...]
    more: bool
    """Whether there are more beyond the limit."""
    is_whole: bool
    """Whether the whole log was searched. If not, some may be missing."""


def catch_up(engine: sa.Engine, size: int) -> None:
    """Read new entries of a log of ``size`` into the table, for a bounded time."""
    known = _filled.get(engine)
    if known is not None and size - known < PAGES.catch_up_entries:
        return
    until = time.monotonic() + PAGES.catch_up_seconds
    while _fill(engine) and time.monotonic() < until:
        pass


_filled: WeakKeyDictionary[sa.Engine, int] = WeakKeyDictionary()
"""How many entries of each log the table is known to cover. The number only grows."""


def dependents_of(look: RegistryView, identity: Identity) -> Dependents:
    """Return what depends on an item now. Withdrawn releases do not count."""
    return look.ask(lambda quiet: _dependents_of(quiet, str(identity)))


def entries_read(look: RegistryView) -> int:
    """Return how many log entries are searched for dependents."""
    return min(look.head.size, _cursor(look.connection) + PAGES.catch_up_entries)


def _dependents_of(look: RegistryView, target: str) -> Dependents:
    cursor, end = _cursor(look.connection), entries_read(look)
    found = _OF.rows(look.connection, {"target": target})
    is_complete = len(found) < PAGES.dependents
    for name, version in _tail(look, cursor, end).get(target, ()):
        found += _RELEASED.rows(look.connection, {"name": name, "version": version})
    newest: dict[str, tuple[int, str]] = {}
    for name, version, position in found:
        if look.may_read(name.partition(":")[2].partition("/")[0]) and position > newest.get(name, (-1, ""))[0]:
            newest[name] = (position, version)
    listed = [Dependent(name, newest[name][1]) for name in sorted(newest)]
    is_more = len(listed) > PAGES.rows or not is_complete
    return Dependents(tuple(listed[: PAGES.rows]), is_more, end == look.head.size)


_Tail = Mapping[str, Sequence[tuple[str, str]]]
"""By name, ``(name, version)`` of the releases that depend on it."""


def _tail(look: RegistryView, start: int, end: int) -> _Tail:
    """Return the relations in entries that are not in the table yet."""
    if end <= start:
        return {}
    key = (look.site.origin, look.site.fingerprint, start, end)
    known = _tails.get(key)
    if known is None:
        made: dict[str, list[tuple[str, str]]] = {}
        for target, name, version in _relations(look.leaves(start, end)):
            made.setdefault(target, []).append((name, version))
        known = made
        _tails.put(key, known)
    return known


_tails: LruCache[tuple[str, str, int, int], _Tail] = LruCache(8)


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
    """Read a batch of entries into the table. Return whether there may be another full batch."""
    with database.reader(engine) as connection:
        first = _cursor(connection)
        query = sa.select(log_entries.c.leaf).where(
            log_entries.c.position >= first, log_entries.c.position < first + PAGES.catch_up_entries
        )
        leaves = [bytes(leaf) for leaf in connection.scalars(query.order_by(log_entries.c.position))]
    if len(leaves) < PAGES.catch_up_entries:
        _filled[engine] = first
        return False  # a partial batch is read again for each head instead
    found = sorted(set(_relations(leaves)))
    with database.change(engine) as connection:
        for target, name, version in found:
            connection.execute(_INSERT, {"target": target, "name": name, "version": version})
        if _cursor(connection) == first:  # otherwise another process has written the same rows meanwhile
            connection.execute(registry.delete().where(registry.c.key == _CURSOR))
            connection.execute(registry.insert().values(key=_CURSOR, value=str(first + len(leaves))))
    return True


def _cursor(connection: sa.Connection) -> int:
    row = _READ_SO_FAR.first(connection, {"key": _CURSOR})
    return int(row[0]) if row is not None else 0


_INSERT = sa.text(
    "INSERT INTO dependents (target, name, version) VALUES (:target, :name, :version) ON CONFLICT DO NOTHING"
)
_READ_SO_FAR = Prepared(sa.select(registry.c.value).where(registry.c.key == sa.bindparam("key")))
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
