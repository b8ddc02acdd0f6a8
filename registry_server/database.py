"""Opening the database, and the one lock that elects the log's writer.

SQLite and PostgreSQL run the same Core code; what differs stands here. Every transaction is explicit: :func:`reader` sees one
consistent state, :func:`writer` is alone among all processes on the same database (SQLite: ``BEGIN IMMEDIATE``; PostgreSQL: an
advisory lock held to the transaction's end). SQLite runs with a write-ahead log and ``synchronous=FULL``: a committed
transaction survives losing power.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from registry_server.schema import REVISION
from rye.errors import RyeError

#: Key of PostgreSQL's advisory lock: the ASCII text "rye-log" as a number.
_WRITER_LOCK = int.from_bytes(b"rye-log", "big")


def connect(url: str, *, wait_seconds: float = 30.0) -> sa.Engine:
    """An engine for the database at ``url``, its tables brought up to date. Raises RyeError when it cannot be opened."""
    try:
        address = sa.make_url(url)
        if address.get_backend_name() == "sqlite":
            engine = sa.create_engine(address, connect_args={"timeout": wait_seconds, "check_same_thread": False})
            event.listen(engine, "connect", _set_up_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
        elif address.get_backend_name() == "postgresql":
            if address.drivername == "postgresql":
                address = address.set(drivername="postgresql+psycopg")
            engine = sa.create_engine(address, pool_pre_ping=True)
        else:
            raise RyeError("bad-setting", f"{address.get_backend_name()} databases are not supported.", _HINT)
        _upgrade(engine)
    except (sa.exc.SQLAlchemyError, ModuleNotFoundError) as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        raise RyeError("database-unavailable", f"The database cannot be opened: {reason}", _HINT) from error
    return engine


_HINT = "Check `database` in registry.toml (empty: SQLite in the data folder), and that the folder is writable."


@contextmanager
def reader(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction that reads one consistent state."""
    options: dict[str, Any] = {}
    if engine.dialect.name == "postgresql":
        options["isolation_level"] = "REPEATABLE READ"
    with engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection


@contextmanager
def writer(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction that is the only writer; committed at the block's end, rolled back when the block raises."""
    with engine.connect().execution_options(rye_writer=True) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_WRITER_LOCK)))
        yield connection


def _set_up_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver must not begin or commit by itself
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "trusted_schema=OFF"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    is_writer = connection.get_execution_options().get("rye_writer", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writer else "BEGIN")


def _upgrade(engine: sa.Engine) -> None:
    with reader(engine) as connection:
        has_revision = sa.inspect(connection).has_table("alembic_version")
        if has_revision and connection.scalar(sa.text("SELECT version_num FROM alembic_version")) == REVISION:
            return  # without importing alembic: this is every start but the first
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    with writer(engine) as connection:
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise RyeError(
                "database-too-new",
                f"The database was made by a newer rye-registry: {error}",
                "Install the newer version; nothing was changed.",
            ) from error
