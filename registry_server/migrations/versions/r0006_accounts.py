"""Where a program asked to be signed in from, whose repository a trusted publisher is, and no counts of downloads.

A server of revision 0005 can run alongside: it fills neither column and never used the table.

Revision: 0006
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add two columns for accounts, and drop the table of downloads."""
    op.add_column("device_logins", sa.Column("address", sa.String(64)))
    op.add_column("trusted_publishers", sa.Column("owner", sa.String(64)))
    op.drop_table("downloads_daily")
