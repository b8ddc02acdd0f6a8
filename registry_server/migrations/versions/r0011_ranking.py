"""Rank search results by all their words. The index is filled again once the schema is the newest (`upgrading`).

Revision: 0011
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from registry_server.search import documents

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Replace the index by an empty one; :mod:`registry_server.migrations.upgrading` fills it and the new column."""
    op.execute("DROP TABLE documents_fts")
    op.add_column("documents", sa.Column("terms", sa.Text, nullable=False, server_default=""))
    # The default was for the old rows only: a server of revision 0010 that still runs must fail to publish.
    with op.batch_alter_table("documents") as table:
        table.alter_column("terms", server_default=None)
        table.drop_column("segment")
    documents.create_index(op.get_bind())
