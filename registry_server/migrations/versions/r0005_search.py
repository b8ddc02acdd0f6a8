"""Search by tokens, the words of ids, and deprecations. They are filled once the schema is the newest (`upgrading`).

Revision: 0005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from registry_server.search import documents

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Replace the search tables. They stay empty until :mod:`registry_server.migrations.upgrading` fills them."""
    bind = op.get_bind()
    if bind.dialect.name == "sqlite":
        op.execute("DROP TABLE documents_fts")
    else:
        op.execute("DROP INDEX documents_text")
        # Ids sort as on SQLite, by their bytes.
        op.execute('ALTER TABLE documents ALTER COLUMN id TYPE varchar(1100) COLLATE "C"')
    op.create_table(
        "search_words",
        sa.Column("word", sa.String(64), primary_key=True),
        sa.Column("namespace", sa.String(64), primary_key=True),
        sa.Column("uses", sa.Integer, nullable=False),
    )
    op.create_table(
        "search_grams",
        sa.Column("gram", sa.String(3), primary_key=True),
        sa.Column("letters", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("word", sa.String(64), primary_key=True),
    )
    for name in ("names", "documents"):
        op.add_column(name, sa.Column("deprecated", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("documents", sa.Column("segment", sa.String(70), nullable=False, server_default=""))
    # The defaults were for the old rows only: a server of revision 0004 that still runs must fail to publish.
    with op.batch_alter_table("documents") as table:
        table.alter_column("deprecated", server_default=None)
        table.alter_column("segment", server_default=None)
    documents.create_index(bind)
