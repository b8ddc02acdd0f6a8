"""Accounts, roles, scopes of tokens, trusted publishers, stages, webhooks, and the chain of audit events.

Tokens that exist stay as they are: they never expire, and may do all that a token could do before.

Revision: 0004
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_OLD_SCOPES = "read publish stage yank claim"


def upgrade() -> None:
    """Create the tables for accounts and everything that belongs to them; existing tokens keep their rights."""
    _people()
    _tokens()
    _publishing()
    _records()


def _people() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("issuer", sa.String(500), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("name", sa.String(100), nullable=False, unique=True),
        sa.Column("created", sa.String(20), nullable=False),
        sa.Column("disabled", sa.String(20)),
        sa.UniqueConstraint("issuer", "subject", name="accounts_person"),
    )
    op.create_table(
        "account_links",
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column("account", sa.String(16), sa.ForeignKey("accounts.id"), nullable=False),
        sa.Column("expires", sa.String(20), nullable=False),
        sa.Column("used", sa.String(20)),
    )
    op.create_table(
        "sessions",
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column("account", sa.String(16), sa.ForeignKey("accounts.id"), nullable=False),
        sa.Column("created", sa.String(20), nullable=False),
        sa.Column("expires", sa.String(20), nullable=False),
    )
    op.create_table(
        "teams",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("created", sa.String(20), nullable=False),
    )
    op.create_table(
        "team_members",
        sa.Column("team", sa.String(64), sa.ForeignKey("teams.name"), primary_key=True),
        sa.Column("account", sa.String(16), sa.ForeignKey("accounts.id"), primary_key=True),
    )
    op.create_table(
        "namespace_roles",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("namespace", sa.String(64), nullable=False),
        sa.Column("account", sa.String(16), sa.ForeignKey("accounts.id")),
        sa.Column("team", sa.String(64), sa.ForeignKey("teams.name")),
        sa.Column("role", sa.String(16), nullable=False),
        sa.UniqueConstraint("namespace", "account", name="namespace_roles_account"),
        sa.UniqueConstraint("namespace", "team", name="namespace_roles_team"),
        sa.CheckConstraint("(account IS NULL) <> (team IS NULL)", name="namespace_roles_one"),
    )


def _tokens() -> None:
    # Not in a batch: SQLite would make the table again, and token_namespaces refers to it.
    op.execute("ALTER TABLE tokens ADD COLUMN account VARCHAR(16) REFERENCES accounts (id)")
    op.add_column("tokens", sa.Column("scopes", sa.String(100), nullable=False, server_default=""))
    op.add_column("tokens", sa.Column("expires", sa.String(20)))
    op.add_column("tokens", sa.Column("last_used", sa.String(20)))
    old = sa.table("tokens", sa.column("scopes"))
    op.get_bind().execute(old.update().values(scopes=_OLD_SCOPES))
    op.add_column("submissions", sa.Column("account", sa.String(16)))


def _publishing() -> None:
    op.create_table(
        "trusted_publishers",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("namespace", sa.String(64), nullable=False),
        sa.Column("issuer", sa.String(500), nullable=False),
        sa.Column("repository", sa.String(400), nullable=False),
        sa.Column("workflow", sa.String(400), nullable=False),
        sa.Column("environment", sa.String(255), nullable=False),
        sa.Column("scopes", sa.String(100), nullable=False),
        sa.Column("created", sa.String(20), nullable=False),
        sa.UniqueConstraint(
            "namespace", "issuer", "repository", "workflow", "environment", name="trusted_publishers_once"
        ),
    )
    op.create_table(
        "exchanged_jwts",
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column("expires", sa.String(20), nullable=False),
    )
    op.create_table(
        "device_logins",
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column("user_code", sa.String(16), nullable=False, unique=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("created", sa.String(20), nullable=False),
        sa.Column("expires", sa.String(20), nullable=False),
        sa.Column("polled", sa.String(32)),
        sa.Column("account", sa.String(16), sa.ForeignKey("accounts.id")),
        sa.Column("state", sa.String(16), nullable=False),
    )
    op.create_table(
        "stages",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("namespace", sa.String(64), nullable=False),
        sa.Column("name", sa.String(1100), nullable=False),
        sa.Column("version", sa.String(256), nullable=False),
        sa.Column("draft", sa.LargeBinary, nullable=False),
        sa.Column("note", sa.LargeBinary),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("token", sa.String(16), nullable=False),
        sa.Column("account", sa.String(16)),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("created", sa.String(20), nullable=False),
        sa.Column("expires", sa.String(20), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("position", sa.BigInteger),
        sa.Column("decided", sa.String(20)),
        sa.Column("reason", sa.Text),
    )
    op.create_index("stages_name", "stages", ["name", "version"])
    op.create_table(
        "stage_files",
        sa.Column("stage", sa.String(16), sa.ForeignKey("stages.id"), primary_key=True),
        sa.Column("sha256", sa.String(64), primary_key=True),
    )
    op.create_index("stage_files_sha256", "stage_files", ["sha256"])
    op.create_table(
        "blob_namespaces",
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column("namespace", sa.String(64), primary_key=True),
    )


def _records() -> None:
    op.create_table(
        "audit_events",
        sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("time", sa.String(20), nullable=False),
        sa.Column("actor", sa.String(140), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("subject", sa.String(1400), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("previous", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("url", sa.String(2000), nullable=False),
        sa.Column("namespace", sa.String(64), nullable=False),
        sa.Column("events", sa.String(200), nullable=False),
        sa.Column("secret", sa.String(100), nullable=False),
        sa.Column("created", sa.String(20), nullable=False),
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("webhook", sa.String(16), nullable=False),
        sa.Column("event", sa.String(32), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("created", sa.String(20), nullable=False),
        sa.Column("due", sa.String(20)),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("error", sa.Text),
        sa.Column("delivered", sa.String(20)),
    )
    op.create_index("deliveries_due", "deliveries", ["due"])
    op.create_table(
        "downloads_daily",
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column("downloads", sa.BigInteger, nullable=False),
    )
