"""The leader's epoch, texts of statements, recoveries, takedowns, and who sent what.

Revision: 0002
"""

from __future__ import annotations

import hashlib

import sqlalchemy as sa
from alembic import op

from rye.registry.protocol import notes
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.statements import Keyset

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_AT_ONCE = 1000
_BYTES = sa.LargeBinary()


def upgrade() -> None:
    """Create the tables for the leader, takedowns and submissions, and fill the new columns from the log."""
    op.create_table(
        "leader",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("holder", sa.String(120), nullable=False),
    )
    op.create_table(
        "takedowns",
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column(
            "position", sa.BigInteger, sa.ForeignKey("log_entries.position"), primary_key=True, autoincrement=False
        ),
        sa.Column("name", sa.String(1100), nullable=False),
        sa.Column("version", sa.String(256), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
    )
    op.create_table(
        "submissions",
        sa.Column(
            "position", sa.BigInteger, sa.ForeignKey("log_entries.position"), primary_key=True, autoincrement=False
        ),
        sa.Column("token", sa.String(16), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("time", sa.String(20), nullable=False),
    )
    op.create_index("submissions_token", "submissions", ["token"])
    op.add_column("keysets", sa.Column("recovery", sa.String(20)))
    _fill_recoveries(op.get_bind())
    op.add_column("name_entries", sa.Column("text_sha256", sa.LargeBinary, nullable=False, server_default=""))
    _fill_texts(op.get_bind())
    # The default was for the old rows only. A server of revision 0001 that still runs on this database must fail to publish
    # instead of adding statements without a hash: a replay of those would be logged again.
    with op.batch_alter_table("name_entries") as table:
        table.alter_column("text_sha256", server_default=None)


def _fill_recoveries(bind: sa.Connection) -> None:
    keysets = sa.table(
        "keysets", sa.column("namespace"), sa.column("position"), sa.column("note"), sa.column("recovery")
    )
    for row in bind.execute(sa.select(keysets)).all():
        recovery = Keyset.parse(notes.parse(bytes(row.note)).text).recovery
        if recovery is not None:
            where = sa.and_(keysets.c.namespace == row.namespace, keysets.c.position == row.position)
            bind.execute(keysets.update().where(where).values(recovery=write_time(recovery)))


def _fill_texts(bind: sa.Connection) -> None:
    named = sa.table("name_entries", sa.column("name"), sa.column("position"), sa.column("text_sha256"))
    entries = sa.table("log_entries", sa.column("position"), sa.column("leaf"))
    wanted = sa.select(named.c.position, entries.c.leaf).join(entries, entries.c.position == named.c.position)
    fill = (
        named.update()
        .where(named.c.position == sa.bindparam("at"))
        .values(text_sha256=sa.bindparam("text", type_=_BYTES))
    )
    last = -1
    while True:
        rows = bind.execute(wanted.where(named.c.position > last).order_by(named.c.position).limit(_AT_ONCE)).all()
        if not rows:
            return
        bind.execute(fill, [{"at": row.position, "text": _text_sha256(bytes(row.leaf))} for row in rows])
        last = rows[-1].position


def _text_sha256(leaf: bytes) -> bytes:
    return hashlib.sha256(notes.parse(leaf).text.encode()).digest()
