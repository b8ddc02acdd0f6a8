"""What owners of namespaces stated about themselves, and whether proofs were still there when the registry looked again.

A server of revision 0012 cannot read such statements: upgrade all servers before the first one is published.

Revision: 0013
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create both tables, empty: no log has such statements yet."""
    op.create_table(
        "owner_statements",
        sa.Column("namespace", sa.String(64), primary_key=True),
        sa.Column(
            "position", sa.BigInteger, sa.ForeignKey("log_entries.position"), primary_key=True, autoincrement=False
        ),
        sa.Column("text_sha256", sa.LargeBinary, nullable=False),
        sa.Column("note", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "owner_checks",
        sa.Column("namespace", sa.String(64), primary_key=True),
        sa.Column("place", sa.String(300), primary_key=True),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("since", sa.String(20), nullable=False),
        sa.Column("checked", sa.String(20), nullable=False),
    )
