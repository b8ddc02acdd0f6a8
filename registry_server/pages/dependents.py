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

from registry_server.pages.item_rows import Use
from registry_server.pages.item_view import Dependent, Dependents
from registry_server.pages.limits import PAGES
from registry_server.pages.lru_cache import LruCache
from registry_server.pages.registry_view import RegistryView
from registry_server.storage import database
from registry_server.storage.prepared import Among, Prepared
from registry_server.storage.schema import dependents, log_entries, releases
from registry_server.storage.schema import registry as facts
from rye.items.identity import Identity
from rye.registry.protocol import notes, statements
from rye.registry.protocol.statements import Release

_CURSOR = "dependents"
_MARKS = (b"\ndepends_on ", b"\nrequires ")


def catch_up(engine: sa.Engine, size: int) -> None:
    """Read new entries of a log of ``size`` into the table, for a bounded time."""
    filled = _filled.get(engine)
    if filled is not None and size - filled < PAGES.catch_up_entries:
        return
    until = time.monotonic() + PAGES.catch_up_seconds
    while _fill(engine) and time.monotonic() < until:
        pass


_filled: WeakKeyDictionary[sa.Engine, int] = WeakKeyDictionary()
"""How many entries of each log the table is known to cover. The number only grows."""


def dependents_of(
    registry: RegistryView, identity: Identity, start: int = 0, most: int = PAGES.dependent_rows
) -> Dependents:
    """Return what depends on an item now, with the rows of one page. Withdrawn releases do not count."""
    target = str(identity)
    cursor = _cursor(registry.connection)
    end = _end(registry, cursor)
    found = _OF.rows(registry.connection, {"target": target})
    is_complete = len(found) < PAGES.dependents
    for name, version in _tail(registry, cursor, end).get(target, ()):
        found += _RELEASED.rows(registry.connection, {"name": name, "version": version})
    newest: dict[str, tuple[int, str]] = {}
    for name, version, position in found:
        if registry.may_read(name.partition(":")[2].partition("/")[0]) and position > newest.get(name, (-1, ""))[0]:
            newest[name] = (position, version)
    rows = tuple(Dependent(name, newest[name][1]) for name in sorted(newest)[start : start + most])
    return Dependents(rows, len(newest), is_complete, end == registry.published.size)


def uses_of(registry: RegistryView, identities: Sequence[Identity]) -> dict[Identity, Use]:
    """Count the items of other namespaces that depend on each of these items now, as far as the reader may see them."""
    targets = {str(identity): identity for identity in identities}
    found: dict[str, set[str]] = {target: set() for target in targets}
    for target, name in _USES.rows(registry.connection, {"some": sorted(targets)}) if targets else ():
        found[target].add(name)
    cursor = _cursor(registry.connection)
    tail = _tail(registry, cursor, _end(registry, cursor))
    for target in targets:
        for name, version in tail.get(target, ()):
            if _RELEASED.rows(registry.connection, {"name": name, "version": version}):
                found[target].add(name)
    return {identity: _use(registry, identity, found[target]) for target, identity in targets.items()}


def _use(registry: RegistryView, identity: Identity, names: Iterable[str]) -> Use:
    namespaces = [name.partition(":")[2].partition("/")[0] for name in names]
    others = [each for each in namespaces if each != identity.namespace and registry.may_read(each)]
    return Use(len(others), len(set(others)))


def entries_read(registry: RegistryView) -> int:
    """Return how many log entries are searched for dependents."""
    return _end(registry, _cursor(registry.connection))


def _end(registry: RegistryView, cursor: int) -> int:
    return min(registry.published.size, cursor + PAGES.catch_up_entries)


_Tail = Mapping[str, Sequence[tuple[str, str]]]
"""By name, ``(name, version)`` of the releases that depend on it."""


def _tail(registry: RegistryView, start: int, end: int) -> _Tail:
    """Return the relations in entries that are not in the table yet."""
    if end <= start:
        return {}
    key = (registry.site.origin, registry.site.fingerprint, start, end)
    tail = _tails.get(key)
    if tail is None:
        relations: dict[str, list[tuple[str, str]]] = {}
        for target, name, version in _relations(registry.log.leaves(start, end)):
            relations.setdefault(target, []).append((name, version))
        tail = relations
        _tails.put(key, tail)
    return tail


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
    relations = sorted(set(_relations(leaves)))

    def keep(connection: sa.Connection) -> None:
        for target, name, version in relations:
            connection.execute(_INSERT, {"target": target, "name": name, "version": version})
        if _cursor(connection) == first:  # otherwise another process has written the same rows meanwhile
            connection.execute(facts.delete().where(facts.c.key == _CURSOR))
            connection.execute(facts.insert().values(key=_CURSOR, value=str(first + len(leaves))))

    database.changing(engine, keep)
    return True


def _cursor(connection: sa.Connection) -> int:
    row = _READ_SO_FAR.first(connection, {"key": _CURSOR})
    return int(row[0]) if row is not None else 0


_INSERT = sa.text(
    "INSERT INTO dependents (target, name, version) VALUES (:target, :name, :version) ON CONFLICT DO NOTHING"
)
_READ_SO_FAR = Prepared(sa.select(facts.c.value).where(facts.c.key == sa.bindparam("key")))
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
_USES = Prepared(
    sa.select(dependents.c.target, dependents.c.name)
    .join(
        releases,
        sa.and_(dependents.c.name == releases.c.name, dependents.c.version == releases.c.version),
    )
    .where(Among(dependents.c.target), releases.c.yanked.is_(sa.false()))
    .group_by(dependents.c.target, dependents.c.name)
    .limit(PAGES.uses)
)
_RELEASED = Prepared(
    sa.select(releases.c.name, releases.c.version, releases.c.position).where(
        releases.c.name == sa.bindparam("name"),
        releases.c.version == sa.bindparam("version"),
        releases.c.yanked.is_(sa.false()),
    )
)
