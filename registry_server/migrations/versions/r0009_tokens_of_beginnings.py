"""Search quickly among a million items on PostgreSQL. The index is filled again once the schema is the newest (`upgrading`).

Revision: 0009
"""

from __future__ import annotations

from alembic import op

from registry_server.search import documents

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Replace the index of PostgreSQL by an empty one; :mod:`registry_server.migrations.upgrading` fills it."""
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        op.execute("DROP TABLE documents_fts")
        documents.create_index(bind)
