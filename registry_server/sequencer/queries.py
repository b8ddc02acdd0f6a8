"""Every statement that a batch runs, prepared once: its queries, and its changes to the tables."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from registry_server.storage.prepared import Among, Prepared, ServerTime
from registry_server.storage.schema import (
    head,
    keysets,
    log_entries,
    map_nodes,
    name_entries,
    names,
    owner_statements,
    registry,
    releases,
    roots,
    submissions,
    takedowns,
    tree_edge,
)
from registry_server.storage.statement_batch import RowChange, deleting, inserting
from rye.registry.protocol.statements import ClockStep, OrganizationPolicy

# -- queries -------------------------------------------------------------------------------------------------------------

ORIGIN_AND_NEWEST = Prepared(
    sa.select(registry.c.value, sa.select(sa.func.max(log_entries.c.position)).scalar_subquery(), ServerTime()).where(
        registry.c.key == sa.literal_column("'origin'")
    )
)
STEPS_BACK = Prepared(
    sa.select(log_entries.c.position, log_entries.c.leaf)
    .where(sa.func.substr(log_entries.c.leaf, 1, len(ClockStep.TITLE)) == sa.bindparam("title"))
    .order_by(log_entries.c.position)
)
NEWEST_POLICY = Prepared(
    sa.select(log_entries.c.position, log_entries.c.leaf)
    .where(sa.func.substr(log_entries.c.leaf, 1, len(OrganizationPolicy.TITLE)) == sa.bindparam("title"))
    .order_by(log_entries.c.position.desc())
    .limit(1)
)
"""Reads the whole log."""
HEAD = Prepared(sa.select(head.c.size, head.c.time, head.c.checkpoint, head.c.document, head.c.map))
EDGE = Prepared(sa.select(tree_edge.c.level, tree_edge.c.hashes))
ROOTS = Prepared(sa.select(roots.c.number, roots.c.note).order_by(roots.c.number))
ROOT = Prepared(sa.select(roots.c.position, roots.c.note).where(roots.c.number == sa.bindparam("number")))
NAME = Prepared(sa.select(names.c.name).where(names.c.name == sa.bindparam("name")))
NAME_BY_FOLD = Prepared(sa.select(names.c.name).where(names.c.fold == sa.bindparam("fold")))
TEXT = Prepared(
    sa.select(sa.func.min(name_entries.c.position)).where(
        name_entries.c.name == sa.bindparam("name"), name_entries.c.text_sha256 == sa.bindparam("sha256")
    )
)
RELEASE = Prepared(
    sa.select(releases.c.position, releases.c.content).where(
        releases.c.name == sa.bindparam("name"), releases.c.version == sa.bindparam("version")
    )
)
WITHDRAWN = Prepared(sa.select(releases.c.version, releases.c.yanked).where(releases.c.name == sa.bindparam("name")))
OFFERED = Prepared(
    sa.select(
        names.c.name,
        names.c.deprecated,
        releases.c.version,
        releases.c.description,
        releases.c.keywords,
        releases.c.position,
    )
    .select_from(names.outerjoin(releases, sa.and_(releases.c.name == names.c.name, releases.c.yanked.is_(sa.false()))))
    .where(Among(names.c.name))
)
"""Names with their releases that are not withdrawn; a name without any has one row."""
NAMES_OF_RELEASES = Prepared(
    sa.select(releases.c.name).where(releases.c.name.like(sa.bindparam("pattern"), escape="!")).distinct()
)
LEAVES = Prepared(
    sa.select(log_entries.c.leaf)
    .where(log_entries.c.position >= sa.bindparam("start"), log_entries.c.position < sa.bindparam("end"))
    .order_by(log_entries.c.position)
)
LEAF_HASHES = Prepared(
    sa.select(log_entries.c.hash)
    .where(log_entries.c.position >= sa.bindparam("start"), log_entries.c.position < sa.bindparam("end"))
    .order_by(log_entries.c.position)
)
INDEX_LINES = Prepared(
    sa.select(name_entries.c.name, name_entries.c.position, log_entries.c.leaf)
    .join(log_entries, log_entries.c.position == name_entries.c.position)
    .where(Among(name_entries.c.name))
    .order_by(name_entries.c.name, name_entries.c.position)
)
KEYSETS = Prepared(
    sa.select(keysets.c.namespace, keysets.c.position, keysets.c.note)
    .where(Among(keysets.c.namespace))
    .order_by(keysets.c.namespace, keysets.c.position)
)
OWNERS = Prepared(
    sa.select(owner_statements.c.namespace, owner_statements.c.position, owner_statements.c.note)
    .where(Among(owner_statements.c.namespace))
    .order_by(owner_statements.c.namespace, owner_statements.c.position)
)
OWNER_TEXT = Prepared(
    sa.select(sa.func.min(owner_statements.c.position)).where(
        owner_statements.c.namespace == sa.bindparam("namespace"),
        owner_statements.c.text_sha256 == sa.bindparam("sha256"),
    )
)
ROOT_ROW, KEYSET_ROW, FOLD_ROW, TEXT_ROW, RELEASE_ROW, TAKEDOWN_ROW, RECOVERED_ROW = range(7)
"""The kinds of rows in the answers of the two queries below."""


def _part(
    kind: int,
    what: sa.ColumnElement[Any],
    number: sa.ColumnElement[Any] | None = None,
    data: sa.ColumnElement[Any] | None = None,
    *others: sa.ColumnElement[Any],
) -> sa.Select[Any]:
    empty = (sa.null() for _ in range(2 - len(others)))
    return sa.select(
        sa.literal_column(str(kind)).label("kind"),
        what,
        sa.literal_column("0") if number is None else number,
        sa.null() if data is None else data,
        *others,
        *empty,
    )


_CHAINS = (
    _part(ROOT_ROW, sa.literal_column("''"), roots.c.number, roots.c.note),
    _part(KEYSET_ROW, keysets.c.namespace, keysets.c.position, keysets.c.note).where(
        Among(keysets.c.namespace, "namespaces")
    ),
)
_IN_EFFECT = sa.and_(keysets.c.recovery > sa.bindparam("earlier"), keysets.c.recovery <= sa.bindparam("later"))
CHAINS = Prepared(sa.union_all(*_CHAINS))
"""All that the chains of some namespaces are computed from."""
BATCH = Prepared(
    sa.union_all(
        *_CHAINS,
        _part(FOLD_ROW, names.c.name, None, None, names.c.fold).where(Among(names.c.fold, "folds")),
        _part(TEXT_ROW, name_entries.c.name, name_entries.c.position, name_entries.c.text_sha256).where(
            Among(name_entries.c.name, "names")
        ),
        _part(RELEASE_ROW, releases.c.name, releases.c.position, None, releases.c.version, releases.c.content).where(
            Among(releases.c.name, "names"), Among(releases.c.version, "versions")
        ),
        _part(TAKEDOWN_ROW, takedowns.c.sha256, takedowns.c.position, None, takedowns.c.reason).where(
            Among(takedowns.c.sha256, "blobs")
        ),
        _part(RECOVERED_ROW, keysets.c.namespace).where(_IN_EFFECT),
    )
)
"""All that the admission of a batch's releases depends on, in one round trip."""
RECOVERED = Prepared(sa.select(keysets.c.namespace).where(_IN_EFFECT).distinct())
TAKEDOWNS = Prepared(
    sa.select(takedowns.c.sha256, takedowns.c.reason).where(Among(takedowns.c.sha256)).order_by(takedowns.c.position)
)
ALL_TAKEDOWNS = Prepared(sa.select(takedowns.c.sha256).distinct().order_by(takedowns.c.sha256))
ALL_NAMES = Prepared(sa.select(names.c.name).order_by(names.c.name))
INDEXES_AMONG = Prepared(sa.select(names.c.index_sha256).where(Among(names.c.index_sha256)))
MAP_NODES_AMONG = Prepared(sa.select(map_nodes.c.sha256, map_nodes.c.data).where(Among(map_nodes.c.sha256)))
MAP_NODES = Prepared(sa.select(map_nodes.c.sha256, map_nodes.c.data))
MAP_NODES_SINCE = Prepared(
    sa.select(map_nodes.c.sha256, map_nodes.c.data).where(map_nodes.c.since >= sa.bindparam("start"))
)

# -- changes -------------------------------------------------------------------------------------------------------------

INSERTS = {table.name: inserting(table) for table in (log_entries, names, name_entries, releases, submissions)}
"""Rows that are inserted together when a batch is complete, in the order that foreign keys need."""
ADD_ROOT = Prepared(roots.insert())
ADD_KEYSET = Prepared(keysets.insert())
ADD_OWNER_STATEMENT = Prepared(owner_statements.insert())
ADD_TAKEDOWN = Prepared(takedowns.insert())
ADD_MAP_NODES = inserting(map_nodes)
REMOVE_MAP_NODES = deleting(map_nodes, "sha256")
WRITE_INDEXES = RowChange(
    names.update()
    .where(names.c.name == sa.bindparam("which"))
    .values(index_sha256=sa.bindparam("sha256"), index_size=sa.bindparam("size")),
    "UPDATE names SET index_sha256 = given.sha256, index_size = given.size FROM {rows} WHERE names.name = given.which",
    {"which": "text", "sha256": "text", "size": "bigint"},
)
WITHDRAW = Prepared(
    releases.update()
    .where(releases.c.name == sa.bindparam("which"), releases.c.version == sa.bindparam("one"))
    .values(yanked=sa.bindparam("withdrawn"))
)
FORGET_WORDS = Prepared(
    releases.update()
    .where(releases.c.name == sa.bindparam("which"), releases.c.version == sa.bindparam("one"))
    .values(keywords="")
)
"""The words of a release's text that search knew."""
DEPRECATE = Prepared(
    names.update()
    .where(names.c.name == sa.bindparam("which"), names.c.deprecated != sa.bindparam("is_deprecated"))
    .values(deprecated=sa.bindparam("is_deprecated"))
)
WRITE_HEAD = inserting(head, replacing=["id"])
REMOVE_EDGE = deleting(tree_edge, "level")
WRITE_EDGE = inserting(tree_edge, replacing=["level"])
