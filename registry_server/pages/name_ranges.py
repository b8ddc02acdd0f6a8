"""Query names in code point order on both databases: all names, or those of some namespaces.

A name is ``kind:namespace/…``, so the names of a namespace form one range for each kind, which the index on names
covers. SQLite compares text by code points; on PostgreSQL the columns have the collation ``C``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import sqlalchemy as sa

from registry_server.storage.prepared import Among, Prepared, Row
from registry_server.storage.schema import documents, log_entries, name_entries, names, releases
from rye.items.kinds import KINDS

Stretch = tuple[str, str]
"""A range of names, without its two bounds."""
EVERYTHING: Stretch = ("", "\U0010ffff")
_AT_ONCE = 1_000


def stretches(namespaces: Iterable[str] | None) -> list[Stretch]:
    """Return the ranges of these namespaces, in order; None: everything. ``0`` is the character after ``/``."""
    if namespaces is None:
        return [EVERYTHING]
    return sorted((f"{kind}:{namespace}/", f"{kind}:{namespace}0") for kind in KINDS for namespace in set(namespaces))


def offered_names(connection: sa.Connection, where: Sequence[Stretch], after: str, most: int) -> list[str]:
    """Return at most ``most`` names after ``after`` that have an available release."""
    return [row[0] for row in _rows(_OFFERED, connection, where, after, most)]


def offered_counts(connection: sa.Connection, namespace: str) -> dict[str, int]:
    """Return how many names of each kind in a namespace have an available release; kinds without any are left out."""
    counts = {}
    for low, high in stretches([namespace]):
        counts[low.partition(":")[0]] = _COUNT.rows(connection, {"low": low, "high": high})[0][0]
    return {kind: number for kind, number in counts.items() if number}


def offered_times(connection: sa.Connection, some: Sequence[str]) -> dict[str, str]:
    """Return the time of the available release of each name, as its note has it."""
    times: dict[str, str] = {}
    for name, leaf in _LEAVES.rows(connection, {"some": list(some)}) if some else ():
        time = _TIME.search(bytes(leaf))
        if time is not None:
            times[name] = time[1].decode()
    return times


_TIME = re.compile(rb"^time (\S{20})$", re.MULTILINE)
_LEAVES = Prepared(
    sa.select(documents.c.name, log_entries.c.leaf)
    .join(releases, sa.and_(releases.c.name == documents.c.name, releases.c.version == documents.c.version))
    .join(log_entries, log_entries.c.position == releases.c.position)
    .where(Among(documents.c.name))
)


def names_in(connection: sa.Connection, where: Sequence[Stretch], after: str, most: int) -> list[Row]:
    """Return name, whether it is deprecated, and version and description of the available release (None without
    one)."""
    return list(_rows(_ITEMS, connection, where, after, most))


def part_ends(connection: sa.Connection, where: Sequence[Stretch], size: int, most: int) -> list[str]:
    """Return every ``size``-th name with an available release, at most ``most``: the last name of each part."""
    if where == [EVERYTHING]:
        return [row[0] for row in _ENDS.rows(connection, {"size": size, "most": most})]
    ends: list[str] = []
    after = ""
    while len(ends) < most and len(found := offered_names(connection, where, after, size)) == size:
        after = found[-1]
        ends.append(after)
    return ends


def newest_positions(connection: sa.Connection, where: Sequence[Stretch], most: int) -> list[int]:
    """Return the log positions of the newest statements about these names, newest first."""
    found: list[int] = []
    for low, high in where:
        values = {"low": low, "high": high, "most": most}
        found += (row[0] for row in _POSITIONS.rows(connection, values))
    return sorted(found, reverse=True)[:most]


def _rows(
    question: Prepared, connection: sa.Connection, where: Sequence[Stretch], after: str, most: int
) -> Iterator[Row]:
    left = most
    for low, high in where:
        if left <= 0:
            return
        if after >= high:
            continue
        values = {"low": max(low, after), "high": high, "most": left}
        for row in question.rows(connection, values):
            left -= 1
            yield row


_low: sa.BindParameter[str] = sa.bindparam("low")
_high: sa.BindParameter[str] = sa.bindparam("high")
_most: sa.BindParameter[int] = sa.bindparam("most")
_OFFERED = Prepared(
    sa.select(documents.c.name)
    .where(documents.c.name > _low, documents.c.name < _high)
    .order_by(documents.c.name)
    .limit(_most)
)
_COUNT = Prepared(
    sa.select(sa.func.count()).select_from(documents).where(documents.c.name > _low, documents.c.name < _high)
)
_ITEMS = Prepared(
    sa.select(names.c.name, names.c.deprecated, documents.c.version, documents.c.description)
    .outerjoin(documents, documents.c.name == names.c.name)
    .where(names.c.name > _low, names.c.name < _high)
    .order_by(names.c.name)
    .limit(_most)
)
_POSITIONS = Prepared(
    sa.select(name_entries.c.position)
    .where(name_entries.c.name > _low, name_entries.c.name < _high)
    .order_by(name_entries.c.position.desc())
    .limit(_most)
)
_NUMBERED = sa.select(
    documents.c.name.label("name"), sa.func.row_number().over(order_by=documents.c.name).label("place")
).subquery()
_ENDS = Prepared(
    sa.select(_NUMBERED.c.name)
    .where(_NUMBERED.c.place % sa.bindparam("size", type_=sa.Integer) == 0)
    .order_by(_NUMBERED.c.place)
    .limit(_most)
)
