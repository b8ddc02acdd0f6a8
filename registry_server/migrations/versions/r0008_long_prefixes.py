"""Search for the beginnings of long words on SQLite. The index is filled again once the schema is the newest (`upgrading`).

Revision: 0008
"""

from __future__ import annotations

from alembic import op

from registry_server.search import documents

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Replace the index of SQLite by an empty one; :mod:`registry_server.migrations.upgrading` fills it."""
    bind = op.get_bind()
    if bind.dialect.name == "sqlite":
        op.execute("DROP TABLE documents_fts")
        documents.create_index(bind)
