"""The name map in place of shards (protocol 2).

Revision: 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rye.registry.protocol import name_map
from rye.registry.protocol.name_map import EMPTY_MAP, EMPTY_MAP_SHA256, MapEntry

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_AT_ONCE = 1000


def upgrade() -> None:
    """Replace the shards by the nodes of the name map, computed from the stored indexes."""
    op.create_table(
        "map_nodes",
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("since", sa.BigInteger, nullable=False),
    )
    op.create_index("map_nodes_since", "map_nodes", ["since"])
    root = _fill_nodes(op.get_bind())
    op.add_column("head", sa.Column("map", sa.String(64), nullable=False, server_default=root))
    # The default was for the old row only: a server of revision 0002 that still runs must fail to publish.
    with op.batch_alter_table("head") as table:
        table.alter_column("map", server_default=None)
    op.drop_index("names_shard", "names")
    op.drop_column("names", "shard")
    op.drop_table("shards")


def _fill_nodes(bind: sa.Connection) -> str:
    """The map over all names; its root."""
    names = sa.table("names", sa.column("name"), sa.column("index_sha256"), sa.column("index_size"))
    head = sa.table("head", sa.column("id"), sa.column("size"))
    nodes = sa.table("map_nodes", sa.column("sha256"), sa.column("data", sa.LargeBinary), sa.column("since"))
    if bind.scalar(sa.select(head.c.id)) is None:
        return EMPTY_MAP_SHA256  # no registry yet: its first head brings the first node
    entries = [MapEntry(row.name, row.index_sha256, row.index_size) for row in bind.execute(sa.select(names))]
    done = name_map.update(EMPTY_MAP_SHA256, entries, {EMPTY_MAP_SHA256: name_map.decode_node(EMPTY_MAP)})
    files = dict(done.files) if entries else {EMPTY_MAP_SHA256: EMPTY_MAP}
    size = bind.scalar(sa.select(head.c.size))
    rows = [{"sha256": sha256, "data": data, "since": size} for sha256, data in files.items()]
    for start in range(0, len(rows), _AT_ONCE):
        bind.execute(nodes.insert(), rows[start : start + _AT_ONCE])
    return done.root
