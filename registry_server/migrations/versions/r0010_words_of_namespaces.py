"""Correct mistyped words among those of the namespaces that a reader sees.

Revision: 0010
"""

from __future__ import annotations

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index the words of ids by namespace. A server of revision 0009 that still runs keeps the index up to date."""
    op.create_index("search_words_namespace", "search_words", ["namespace", "word"])
