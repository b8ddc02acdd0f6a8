"""What lists say of items, for filters and the order by use. Filled on first use; an older server can run alongside.

Revision: 0012
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of listings, empty."""
    op.create_table(
        "listings",
        sa.Column("name", sa.String(1100), primary_key=True),
        sa.Column("version", sa.String(256), nullable=False),
        sa.Column("code", sa.String(16), nullable=False),
        sa.Column("declared", sa.Boolean),
        sa.Column("alarms", sa.Integer),
        sa.Column("licence", sa.String(80), nullable=False),
        sa.Column("used_by", sa.Integer, nullable=False),
        sa.Column("publishers", sa.Integer, nullable=False),
    )
