"""Which groups of the identity provider are teams here, who is in a team because of one, and the sizes of files for quotas.

A server of revision 0013 can run alongside: whom it adds to a team is added by hand.

Revision: 0014
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Everyone who is in a team was added by hand."""
    op.create_table(
        "team_groups",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("issuer", sa.String(500), nullable=False),
        sa.Column("group_name", sa.String(400), nullable=False),
        sa.Column("team", sa.String(64), sa.ForeignKey("teams.name"), nullable=False),
        sa.Column("created", sa.String(20), nullable=False),
        sa.UniqueConstraint("issuer", "group_name", "team", name="team_groups_once"),
    )
    op.add_column("accounts", sa.Column("groups_time", sa.String(20)))
    op.add_column("blob_namespaces", sa.Column("size", sa.BigInteger))
    op.create_index("blob_namespaces_namespace", "blob_namespaces", ["namespace"])
    op.execute("DELETE FROM blob_namespaces")  # filled again from the log, with sizes
    op.execute("DELETE FROM registry WHERE key = 'blob-namespaces'")
    if op.get_bind().dialect.name == "postgresql":
        op.add_column("team_members", sa.Column("group_name", sa.String(400), nullable=False, server_default=""))
        op.drop_constraint("team_members_pkey", "team_members", type_="primary")
        op.create_primary_key("team_members_pkey", "team_members", ["team", "account", "group_name"])
        return
    op.rename_table("team_members", "team_members_0013")
    op.create_table(
        "team_members",
        sa.Column("team", sa.String(64), sa.ForeignKey("teams.name"), primary_key=True),
        sa.Column("account", sa.String(16), sa.ForeignKey("accounts.id"), primary_key=True),
        sa.Column("group_name", sa.String(400), primary_key=True, server_default=""),
    )
    op.execute("INSERT INTO team_members (team, account) SELECT team, account FROM team_members_0013")
    op.drop_table("team_members_0013")
