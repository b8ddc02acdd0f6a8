"""Empty SQLite databases of registries without taking every migration for each of them.

The first one of each process of the test run is made by the migrations; each later one is a copy of its bytes. Databases
that have tables already are upgraded as always, and so is everything on PostgreSQL and in processes of their own.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import sqlalchemy as sa

from registry_server.migrations import opening

_upgrade = opening._upgrade
_made: list[bytes] = []
"""The one empty database, once there is one."""


def upgrade(engine: sa.Engine) -> None:
    """In place of ``opening._upgrade``."""
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
        path.write_bytes(_made[0])  # into the file that is there: connections that are open look at its number
    except OSError:  # a full disk, as some test wants it: the migrations say so
        os.truncate(path, 0)
        _upgrade(engine)
