"""Let SQLite's index tell the newest items apart. It is filled again once the schema is the newest (`upgrading`).

A server of revision 0014 must not run alongside: it would add items without blocks.

Revision: 0015
"""

from __future__ import annotations

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """The schema stays."""
