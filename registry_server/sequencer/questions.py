"""Every statement that a batch runs, prepared once: its queries, and its changes to the tables."""

from __future__ import annotations

import sqlalchemy as sa

from registry_server.storage.prepared import Among, Prepared
from registry_server.storage.schema import (
    head,
    keysets,
    log_entries,
    map_nodes,
    name_entries,
    names,
    registry,
    releases,
    roots,
    submissions,
    takedowns,
    tree_edge,
)

# -- queries -------------------------------------------------------------------------------------------------------------

ORIGIN_AND_NEWEST = Prepared(
    sa.select(registry.c.value, sa.select(sa.func.max(log_entries.c.position)).scalar_subquery()).where(
        registry.c.key == "origin"
    )
)
HEAD = Prepared(sa.select(head.c.size, head.c.time, head.c.checkpoint, head.c.document, head.c.map))
EDGE = Prepared(sa.select(tree_edge.c.level, tree_edge.c.hashes))
ROOTS = Prepared(sa.select(roots.c.number, roots.c.note).order_by(roots.c.number))
ROOT = Prepared(sa.select(roots.c.position, roots.c.note).where(roots.c.number == sa.bindparam("number")))
NAMES_BY_FOLD = Prepared(sa.select(names.c.name, names.c.fold).where(Among(names.c.fold)))
NAME = Prepared(sa.select(names.c.name).where(names.c.name == sa.bindparam("name")))
NAME_BY_FOLD = Prepared(sa.select(names.c.name).where(names.c.fold == sa.bindparam("fold")))
TEXTS = Prepared(
    sa.select(name_entries.c.name, name_entries.c.text_sha256, name_entries.c.position)
    .where(Among(name_entries.c.name))
    .order_by(name_entries.c.position.desc())
)
TEXT = Prepared(
    sa.select(sa.func.min(name_entries.c.position)).where(
        name_entries.c.name == sa.bindparam("name"), name_entries.c.text_sha256 == sa.bindparam("sha256")
    )
)
RELEASES = Prepared(
    sa.select(releases.c.name, releases.c.version, releases.c.position, releases.c.content).where(
        Among(releases.c.name), Among(releases.c.version, "versions")
    )
)
RELEASE = Prepared(
    sa.select(releases.c.position, releases.c.content).where(
        releases.c.name == sa.bindparam("name"), releases.c.version == sa.bindparam("version")
    )
)
WITHDRAWN = Prepared(sa.select(releases.c.version, releases.c.yanked).where(releases.c.name == sa.bindparam("name")))
OFFERED = Prepared(
    sa.select(releases.c.name, releases.c.version, releases.c.description, releases.c.keywords, names.c.deprecated)
    .join(names, names.c.name == releases.c.name)
    .where(Among(releases.c.name), releases.c.yanked.is_(sa.false()))
)
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
RECOVERED = Prepared(
    sa.select(keysets.c.namespace)
    .where(keysets.c.recovery > sa.bindparam("earlier"), keysets.c.recovery <= sa.bindparam("later"))
    .distinct()
)
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

INSERTS = {table.name: Prepared(table.insert()) for table in (log_entries, names, name_entries, releases, submissions)}
"""Rows that are inserted together when a batch is complete, in the order that foreign keys need."""
ADD_ROOT = Prepared(roots.insert())
ADD_KEYSET = Prepared(keysets.insert())
ADD_TAKEDOWN = Prepared(takedowns.insert())
ADD_MAP_NODE = Prepared(map_nodes.insert())
REMOVE_MAP_NODES = Prepared(map_nodes.delete().where(Among(map_nodes.c.sha256)))
WRITE_INDEX = Prepared(
    names.update()
    .where(names.c.name == sa.bindparam("which"))
    .values(index_sha256=sa.bindparam("sha256"), index_size=sa.bindparam("size"))
)
WITHDRAW = Prepared(
    releases.update()
    .where(releases.c.name == sa.bindparam("which"), releases.c.version == sa.bindparam("one"))
    .values(yanked=sa.bindparam("withdrawn"))
)
DEPRECATE = Prepared(
    names.update()
    .where(names.c.name == sa.bindparam("which"), names.c.deprecated != sa.bindparam("is_deprecated"))
    .values(deprecated=sa.bindparam("is_deprecated"))
)
MOVE_HEAD = Prepared(
    head.update()
    .where(head.c.id == 1)
    .values(
        size=sa.bindparam("new_size"),
        time=sa.bindparam("new_time"),
        checkpoint=sa.bindparam("new_checkpoint"),
        document=sa.bindparam("new_document"),
        map=sa.bindparam("new_map"),
    )
)
FIRST_HEAD = Prepared(
    head.insert().values(
        id=1,
        size=sa.bindparam("new_size"),
        time=sa.bindparam("new_time"),
        checkpoint=sa.bindparam("new_checkpoint"),
        document=sa.bindparam("new_document"),
        map=sa.bindparam("new_map"),
    )
)
REMOVE_EDGE = Prepared(tree_edge.delete().where(tree_edge.c.level == sa.bindparam("which")))
ADD_EDGE = Prepared(tree_edge.insert())
