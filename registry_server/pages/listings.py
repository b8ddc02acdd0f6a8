"""A table with what lists filter and sort by, which pages fill when they need it.

Publishing does not wait for it. A list first describes the items that have no row yet, or whose newest release or describing code
is another, for a bounded time. Until then such items are in every list without filters, and in none that asks for something that
is not known of them. Counts of use change when a dependent item is described, and rows of a page are always counted anew.

The table is derived: whoever can write it can only change the order and the filters of lists.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import replace

from registry_server.pages import page_layout
from registry_server.pages.analysed import analysis_of
from registry_server.pages.analysis_store import AnalysisStore
from registry_server.pages.dependents import catch_up as catch_up_dependents
from registry_server.pages.dependents import uses_of
from registry_server.pages.item_rows import Use, Wanted
from registry_server.pages.limits import LISTS
from registry_server.pages.page_context import Reader, Site
from registry_server.pages.registry_view import RegistryView
from registry_server.search.orders import Sort, allowed
from registry_server.storage import database
from registry_server.storage.objects import Objects
from registry_server.storage.schema import documents, keysets, listings
from rye.describing.description import Description
from rye.items.identity import Identity
from rye.storage.verdicts import running_code


class Filters(Struct, frozen=True, kw_only=True):
    """What a list shows."""

    kind: str = ""
    """Empty: all."""
    sort: Sort = "used"
    licence: str = ""
    """Only items with this licence; empty: any."""
    no_alarms: bool = False
    """Only items without alarms."""
    tools: bool = False
    """Only items that declare what they may use."""


# -- filling -------------------------------------------------------------------------------------------------------------


def filling(store: Objects, analyses: AnalysisStore | None) -> Callable[[sa.Engine, int], None]:
    """Return what a list does before its transaction: describe what is new, for a log of the given size."""

    def prepare(engine: sa.Engine, size: int) -> None:
        catch_up_dependents(engine, size)
        known = _filled.get(engine)
        if known is None or known.size != size:
            newest = _fill(engine, store, analyses, known)
            if newest is not None:
                looked = time.monotonic() if known is None or _is_old(known) else known.looked
                _filled[engine] = _Complete(size, newest, looked)

    return prepare


class _Complete(Struct, frozen=True):
    """When a table was found complete."""

    size: int
    """Of the log."""
    newest: tuple[int, str, str]
    """The newest document: number, name, version. What changes later gets a larger number."""
    looked: float
    """When all documents were looked at last (``time.monotonic``)."""


_filled: WeakKeyDictionary[sa.Engine, _Complete] = WeakKeyDictionary()
_ALL_SECONDS = 3600.0
"""How often all documents are looked at: among a million, that takes more than a second."""


def _is_old(known: _Complete) -> bool:
    return time.monotonic() - known.looked > _ALL_SECONDS


def _looked_at_from(connection: sa.Connection, known: _Complete | None) -> int:
    """The number from which on documents may not be described. 0: look at all of them. If the newest was removed, another
    one may have its number now."""
    if known is None or _is_old(known):
        return 0
    return known.newest[0] if connection.execute(_NUMBERED, {"number": known.newest[0]}).first() == known.newest else 0


class _Listing(Struct, frozen=True):
    name: str
    version: str
    description: Description | None
    use: Use


def _fill(
    engine: sa.Engine, store: Objects, analyses: AnalysisStore | None, known: _Complete | None
) -> tuple[int, str, str] | None:
    """Describe items for a bounded time. Return the newest document once none is left."""
    until = time.monotonic() + LISTS.describing_seconds
    while time.monotonic() < until:
        with database.reader(engine) as connection:
            registry = RegistryView(connection, store, Site("", "", ""), Reader(), datetime.now(UTC), analyses)
            first = _looked_at_from(connection, known)
            left = connection.execute(_UNKNOWN, {"code": code(), "first": first}).all()
            if not left:
                number, name, version = connection.execute(_NEWEST).first() or (0, "", "")
                return number, name, version
            rows: list[_Listing] = []
            touched: dict[Identity, None] = {}
            for name, version in left:
                row, needs = _describe(registry, name, version)
                rows.append(row)
                touched.update(dict.fromkeys(needs))
                if time.monotonic() > until:
                    break
            uses = uses_of(registry, [each for each in touched if str(each) not in {row.name for row in rows}])
        database.changing(engine, partial(_put, rows, uses))  # another reader may be doing the same
    return None


def _put(rows: Sequence[_Listing], uses: Mapping[Identity, Use], connection: sa.Connection) -> None:
    for row in rows:
        connection.execute(_PUT, _values(row))
    for identity, use in uses.items():
        values = {"which": str(identity), "used_by": use.items, "publishers": use.publishers}
        connection.execute(_COUNT, values)


def _describe(registry: RegistryView, name: str, version: str) -> tuple[_Listing, list[Identity]]:
    kind, _, identifier = name.partition(":")
    identity = Identity(kind, identifier)
    history = registry.histories([identity]).get(identity)
    record = next((each for each in history.records if each.version == version), None) if history is not None else None
    use = uses_of(registry, [identity])[identity]
    if record is None:  # clients refuse its history
        return _Listing(name, version, None, use), []
    release = record.release
    needs = [r.identity for r in (*release.depends_on, *release.requires) if r.identity is not None]
    return _Listing(name, version, analysis_of(registry, record)[0].description, use), needs


def _values(row: _Listing) -> dict[str, object]:
    about = row.description
    return {
        "name": row.name,
        "version": row.version,
        "code": code(),
        "declared": about.declared if about is not None else None,
        "alarms": about.alarms if about is not None and about.is_whole else None,
        "licence": " ".join((about.licence or "").split())[:_LICENCE] if about is not None else "",
        "used_by": row.use.items,
        "publishers": row.use.publishers,
    }


_LICENCE = 80
"""Characters of a licence that are stored and compared."""


@cache
def code() -> str:
    """Identify the code that describes items: what other code described counts as unknown."""
    return hashlib.sha256(running_code() + page_layout.version().encode()).hexdigest()[:16]


_UNKNOWN = (
    sa.select(documents.c.name, documents.c.version)
    .outerjoin(listings, listings.c.name == documents.c.name)
    .where(
        documents.c.number >= sa.bindparam("first"),
        sa.or_(
            listings.c.name.is_(None),
            listings.c.version != documents.c.version,
            listings.c.code != sa.bindparam("code"),
        ),
    )
    .order_by(documents.c.number.desc())
    .limit(LISTS.described_at_once)
)
_IDENTIFIED = sa.select(documents.c.number, documents.c.name, documents.c.version)
_NEWEST = _IDENTIFIED.order_by(documents.c.number.desc()).limit(1)
_NUMBERED = _IDENTIFIED.where(documents.c.number == sa.bindparam("number"))
_COLUMNS = ("version", "code", "declared", "alarms", "licence", "used_by", "publishers")
_PUT = sa.text(
    f"INSERT INTO listings (name, {', '.join(_COLUMNS)}) VALUES (:name, {', '.join(f':{each}' for each in _COLUMNS)}) "
    f"ON CONFLICT (name) DO UPDATE SET {', '.join(f'{each} = excluded.{each}' for each in _COLUMNS)}"
)
_COUNT = (
    listings.update()
    .where(listings.c.name == sa.bindparam("which"))
    .values(used_by=sa.bindparam("used_by"), publishers=sa.bindparam("publishers"))
)


# -- asking --------------------------------------------------------------------------------------------------------------


_DESCRIBED = sa.and_(listings.c.name == documents.c.name, listings.c.version == documents.c.version)
_OFFERED = (documents.c.name, documents.c.version, documents.c.description, documents.c.deprecated)


def _chosen(asked: sa.Select[Any], filters: Filters, reader: Reader) -> sa.Select[Any]:
    """Limit a question about documents to what a list shows."""
    if filters.kind:
        asked = asked.where(documents.c.kind == filters.kind)
    if reader.namespaces is not None:
        asked = asked.where(documents.c.namespace.in_(reader.namespaces))
    return asked


def _filtered(asked: sa.Select[Any], filters: Filters) -> sa.Select[Any]:
    """Limit a question about listings to what a list shows."""
    if filters.no_alarms:
        asked = asked.where(listings.c.alarms == 0)
    if filters.tools:
        asked = asked.where(listings.c.declared.is_(sa.true()))
    if filters.licence:
        asked = asked.where(sa.func.lower(listings.c.licence) == filters.licence.lower())
    return asked


def _listed(filters: Filters, reader: Reader) -> sa.Select[Any]:
    """Return the question for the items of a list, without their order."""
    asked = sa.select(*_OFFERED).outerjoin_from(documents, listings, _DESCRIBED)
    return _filtered(_chosen(asked, filters, reader), filters)


def _counted(columns: Sequence[sa.ColumnElement[Any]], filters: Filters, reader: Reader) -> sa.Select[Any]:
    """Return a question about the documents of a list, which reads the listings only if a filter does: for each of 100,000
    documents, a look at its listing is most of the time."""
    asked = _chosen(sa.select(*columns).select_from(documents), filters, reader)
    if filters.no_alarms or filters.tools or filters.licence:
        asked = _filtered(asked.outerjoin(listings, _DESCRIBED), filters)
    return asked


def items_of(registry: RegistryView, filters: Filters, start: int, most: int) -> list[Wanted]:
    """Return a page of a list.

    A reader of some namespaces only gets the newest in place of the most used: the order must not tell what others use.
    """
    sort = allowed(filters.sort, is_limited=registry.reader.namespaces is not None)
    if sort == "used":
        rows = _most_used(registry, filters, start, most)
    else:
        order = documents.c.number.desc() if sort == "newest" else _sorted(registry, documents.c.name)
        asked = _listed(filters, registry.reader).order_by(order).offset(start).limit(most)
        rows = registry.connection.execute(asked).all()
    wanted: list[Wanted] = []
    for item, version, description, deprecated in rows:
        kind, _, identifier = item.partition(":")
        wanted.append(Wanted(Identity(kind, identifier), version, description, bool(deprecated)))
    return wanted


def _most_used(registry: RegistryView, filters: Filters, start: int, most: int) -> Sequence[Any]:
    """Return rows in the order of use: those that are used, which are few, and then all others, the newest first."""
    few, joined = _used(filters)
    used = _chosen(sa.select(*_OFFERED).join_from(few, documents, joined), filters, registry.reader)
    order = (few.c.publishers.desc(), few.c.used_by.desc(), documents.c.number.desc())
    rows = list(registry.connection.execute(used.order_by(*order).offset(start).limit(most)))
    if len(rows) == most:
        return rows
    skipped = 0
    if start and not rows:
        skipped = start - (registry.connection.scalar(sa.select(sa.func.count()).select_from(used.subquery())) or 0)
    unused = _listed(filters, registry.reader).where(sa.func.coalesce(listings.c.used_by, 0) == 0)
    others = unused.order_by(documents.c.number.desc()).offset(skipped).limit(most - len(rows))
    return [*rows, *registry.connection.execute(others)]


def _used(filters: Filters) -> tuple[sa.CTE, sa.ColumnElement[bool]]:
    """Return the listings of items that others use, which are found before documents are asked, and what joins the two."""
    columns = (listings.c.name, listings.c.version, listings.c.publishers, listings.c.used_by)
    few = _filtered(sa.select(*columns).where(listings.c.used_by > 0), filters).cte("used").prefix_with("MATERIALIZED")
    return few, sa.and_(few.c.name == documents.c.name, few.c.version == documents.c.version)


def counts_by_kind(registry: RegistryView, filters: Filters | None = None) -> dict[str, int]:
    """Return how many items of each kind the reader may see. ``filters``: what else is asked of them, whatever kind it names."""
    every = replace(filters or Filters(), kind="")
    asked = _counted([documents.c.kind, sa.func.count()], every, registry.reader).group_by(documents.c.kind)
    return {str(kind): int(count) for kind, count in registry.connection.execute(asked)}


def licences_of(registry: RegistryView, kind: str) -> list[tuple[str, int]]:
    """Return the most common licences of a kind, and how many items have each."""
    lower, written = sa.func.lower(listings.c.licence), sa.func.min(listings.c.licence)
    listed = _listed(Filters(kind=kind), registry.reader).with_only_columns(written, sa.func.count())
    asked = listed.where(listings.c.licence != "").group_by(lower)
    asked = asked.order_by(sa.func.count().desc(), lower).limit(LISTS.licences)
    return [(licence, count) for licence, count in registry.connection.execute(asked)]


def unknown_count(registry: RegistryView, kind: str) -> int:
    """Return of how many items of a kind the lists know nothing yet."""
    known = _filled.get(registry.connection.engine)
    if known is not None and known.size == registry.published.size:
        return 0
    asked = _listed(Filters(kind=kind), registry.reader).where(listings.c.name.is_(None))
    return registry.connection.scalar(sa.select(sa.func.count()).select_from(asked.subquery())) or 0


class Publisher(Struct, frozen=True):
    """A namespace in a list."""

    namespace: str
    items: int
    used_by: int
    """Items of other namespaces that depend on its items; 0 for a reader of some namespaces, whom this must not tell."""


def publishers_of(registry: RegistryView, sort: Sort, start: int, most: int) -> list[Publisher]:
    """Return a page of the namespaces that the reader may see."""
    limited = registry.reader.namespaces is not None
    sort = allowed(sort, is_limited=limited)
    claims = sa.select(keysets.c.namespace, sa.func.min(keysets.c.position).label("first"))
    if registry.reader.namespaces is not None:
        claims = claims.where(keysets.c.namespace.in_(registry.reader.namespaces))
    claims = claims.group_by(keysets.c.namespace)
    page: list[str] | None = None
    if sort != "used":  # then only those of the page are counted
        name = claims.subquery().c
        order = name.first.desc() if sort == "newest" else _sorted(registry, name.namespace)
        page = list(registry.connection.scalars(sa.select(name.namespace).order_by(order).offset(start).limit(most)))
    few, joined = _used(Filters())
    counted = sa.select(documents.c.namespace, sa.func.count().label("items"))
    summed = sa.select(documents.c.namespace, sa.func.sum(few.c.used_by).label("used")).join_from(
        few, documents, joined
    )
    if page is not None:
        counted, summed = (asked.where(documents.c.namespace.in_(page)) for asked in (counted, summed))
    number, use = (asked.group_by(documents.c.namespace) for asked in (counted, summed))
    if page is not None:
        numbers: dict[str, int] = dict(registry.connection.execute(number).all())
        sums: dict[str, int] = dict(registry.connection.execute(use).all())
        rows: Sequence[Any] = [(namespace, numbers.get(namespace, 0), sums.get(namespace, 0)) for namespace in page]
    else:
        claimed, of, by = claims.subquery(), number.subquery(), use.subquery()
        items, uses = sa.func.coalesce(of.c["items"], 0), sa.func.coalesce(by.c.used, 0)
        asked = sa.select(claimed.c.namespace, items, uses).select_from(
            claimed.outerjoin(of, of.c.namespace == claimed.c.namespace).outerjoin(
                by, by.c.namespace == claimed.c.namespace
            )
        )
        ordered = asked.order_by(uses.desc(), items.desc(), _sorted(registry, claimed.c.namespace))
        rows = registry.connection.execute(ordered.offset(start).limit(most)).all()
    return [Publisher(namespace, int(number), 0 if limited else int(uses)) for namespace, number, uses in rows]


def _sorted(registry: RegistryView, name: sa.ColumnElement[str]) -> sa.ColumnElement[str]:
    """The name, in the order of its bytes."""
    return name.collate("C") if registry.connection.dialect.name == "postgresql" else name
