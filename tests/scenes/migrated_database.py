"""Empty SQLite databases for registries, without running every migration for each.

The migrations make the first one of each process of the test run; each later one is a copy of its bytes. Databases that
already have tables are upgraded as usual, and so is everything on PostgreSQL and in separate processes.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import sqlalchemy as sa

from registry_server.migrations import opening

_upgrade = opening._upgrade
_made: list[bytes] = []
"""The one empty database, once it has been made."""


def upgrade(engine: sa.Engine) -> None:
    """Replaces ``opening._upgrade``."""
    path = Path(engine.url.database or "")
    if engine.dialect.name != "sqlite" or path.stat().st_size:
        _upgrade(engine)
    elif _made:
        _copy(engine, path)
    else:
        _upgrade(engine)
        connection = sqlite3.connect(path)
        _made.append(connection.serialize())
        connection.close()


def _copy(engine: sa.Engine, path: Path) -> None:
    try:
        path.write_bytes(_made[0])  # into the existing file: open connections check its inode number
    except OSError:  # a full disk, which some tests simulate: let the migrations report it
        os.truncate(path, 0)
        _upgrade(engine)
