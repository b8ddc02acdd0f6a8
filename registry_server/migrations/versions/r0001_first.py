"""The first tables.

Revision: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the first tables."""
    op.create_table(
        "registry",
        sa.Column("key", sa.String(40), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.create_table(
        "log_entries",
        sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("leaf", sa.LargeBinary, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
    )
    op.create_index("log_entries_hash", "log_entries", ["hash"])
    op.create_table(
        "tree_edge",
        sa.Column("level", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("hashes", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "head",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("time", sa.String(20), nullable=False),
        sa.Column("checkpoint", sa.LargeBinary, nullable=False),
        sa.Column("document", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "roots",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("note", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "names",
        sa.Column("name", sa.String(1100), primary_key=True),
        sa.Column("shard", sa.String(2), nullable=False),
        sa.Column("fold", sa.String(1100), nullable=False, unique=True),
        sa.Column("index_sha256", sa.String(64), nullable=False),
        sa.Column("index_size", sa.BigInteger, nullable=False),
    )
    op.create_index("names_shard", "names", ["shard"])
    op.create_table(
        "name_entries",
        sa.Column("name", sa.String(1100), sa.ForeignKey("names.name"), primary_key=True),
        sa.Column(
            "position", sa.BigInteger, sa.ForeignKey("log_entries.position"), primary_key=True, autoincrement=False
        ),
    )
    op.create_table(
        "keysets",
        sa.Column("namespace", sa.String(64), primary_key=True),
        sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("note", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "releases",
        sa.Column("name", sa.String(1100), sa.ForeignKey("names.name"), primary_key=True),
        sa.Column("version", sa.String(256), primary_key=True),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("content", sa.String(64), nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("keywords", sa.Text, nullable=False),
        sa.Column("yanked", sa.Boolean, nullable=False),
    )
    op.create_table(
        "shards",
        sa.Column("shard", sa.String(2), primary_key=True),
        sa.Column("sha256", sa.String(64), nullable=False),
    )
    op.create_table(
        "documents",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(1100), nullable=False, unique=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("namespace", sa.String(64), nullable=False),
        sa.Column("id", sa.String(1100), nullable=False),
        sa.Column("version", sa.String(256), nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("keywords", sa.Text, nullable=False),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("created", sa.String(20), nullable=False),
        sa.Column("revoked", sa.String(20)),
    )
    op.create_table(
        "token_namespaces",
        sa.Column("token", sa.String(16), sa.ForeignKey("tokens.id"), primary_key=True),
        sa.Column("namespace", sa.String(64), primary_key=True),
    )
    if op.get_bind().dialect.name == "sqlite":
        # An index without its own text: the rows are those of `documents`,
        # which registry_server.search keeps in step.
        op.execute(
            "CREATE VIRTUAL TABLE documents_fts USING fts5(id, description, kind, keywords, "
            "content='documents', content_rowid='number', tokenize='unicode61 remove_diacritics 2', prefix='2 3')"
        )
    else:
        op.execute(
            "CREATE INDEX documents_text ON documents USING gin (to_tsvector('simple', "
            "translate(id, '_-/', '   ') || ' ' || description || ' ' || kind || ' ' || keywords))"
        )
