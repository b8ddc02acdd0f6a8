"""Let PostgreSQL sort names by their bytes, as SQLite does. Stop older servers first.

Its indexes then find the names of a namespace.

Revision: 0017
"""

from __future__ import annotations

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_NAMES = {
    "names": ("name",),
    "name_entries": ("name",),
    "releases": ("name",),
    "takedowns": ("name",),
    "documents": ("name",),
    "dependents": ("target", "name"),
    "listings": ("name",),
}
"""The columns with whole names. They change together: what two columns of different orders are joined by has none."""


def upgrade() -> None:
    """Give the columns the collation ``C``: their indexes are made again, and the rows stay where they are."""
    if op.get_bind().dialect.name == "postgresql":
        for table, columns in _NAMES.items():
            changes = (f'ALTER COLUMN {column} TYPE varchar(1100) COLLATE "C"' for column in columns)
            op.execute(f"ALTER TABLE {table} {', '.join(changes)}")
