"""Who depends on what, for pages. The table is filled from the log on first use; an older server can run alongside.

Revision: 0007
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of dependents, empty."""
    op.create_table(
        "dependents",
        sa.Column("target", sa.String(1100), primary_key=True),
        sa.Column("name", sa.String(1100), primary_key=True),
        sa.Column("version", sa.String(256), primary_key=True),
    )
