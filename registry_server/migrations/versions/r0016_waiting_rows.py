"""Let new rows of PostgreSQL's text index wait in a list. An older server can run alongside.

Revision: 0016
"""

from __future__ import annotations

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """SQLite's index has no such list, and a database from before 0011 gets a new index after the last step."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER INDEX IF EXISTS documents_fts_tokens SET (fastupdate = on)")
