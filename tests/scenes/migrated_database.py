"""Empty databases for registries, without running every migration for each.

The migrations make the first one of each process of the test run. On SQLite each later one is a copy of its bytes; on
PostgreSQL it is made by the statements that made the first one, without what it takes to compose them. Databases that already
have tables are upgraded as usual, and so is everything in separate processes.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from registry_server.migrations import opening, upgrading
from registry_server.storage import database

_upgrade = opening._upgrade
_made: list[bytes] = []
"""The one empty database, once it has been made."""
_told: list[tuple[str, Any]] = []
"""What made the first one on PostgreSQL, with values."""


def upgrade(engine: sa.Engine) -> None:
    """Replaces ``opening._upgrade``."""
    if engine.dialect.name == "postgresql":
        _tell(engine)
        return
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


def _tell(engine: sa.Engine) -> None:
    with database.reader(engine) as connection:
        is_empty = not sa.inspect(connection).get_table_names()
    if not is_empty:
        _upgrade(engine)
        return
    with database.writer(engine) as connection:
        if _told:
            for statement, values in _told:
                connection.exec_driver_sql(statement, values or None)
        else:
            told: list[tuple[str, Any]] = []

            def note(_: object, __: object, statement: str, values: Any, *___: object) -> None:
                if not statement.startswith("SELECT "):
                    told.append((statement, values))

            sa.event.listen(connection, "before_cursor_execute", note)
            upgrading.upgrade(connection)
            sa.event.remove(connection, "before_cursor_execute", note)
            _told.extend(told)
