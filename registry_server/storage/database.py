"""Opens the database, and holds the one lock that elects the log's writer.

SQLite and PostgreSQL run the same SQLAlchemy Core code; the differences are in this module. Every transaction is
explicit:

* :func:`reader` sees one consistent state and waits for no other transaction.
* :func:`change` writes tables that are not part of the log (tokens). On PostgreSQL it never waits for the log's writer;
  SQLite has one lock for all writes, so there it waits for the running batch.
* :func:`writer` is exclusive among all processes on the same database (SQLite: ``BEGIN IMMEDIATE``; PostgreSQL: an
  advisory lock until the transaction ends). It waits at most ``wait_seconds``. PostgreSQL ends the session of a writer
  that is silent for ``idle_seconds``, because it is stopped or unplugged, so that another process can take over.

SQLite runs with a write-ahead log and ``synchronous=FULL``: a committed transaction survives a power cut.

Errors of the driver become RyeErrors: ``database-busy`` (locked for too long), ``storage-full``,
``database-unavailable``. A PostgreSQL database that is not in UTF-8 is refused (``database-encoding``).
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event

from registry_server.storage.first_line import first_line
from registry_server.storage.prepared import Prepared
from rye.errors import RyeError, UsageError

#: Key of PostgreSQL's advisory lock: the ASCII text "rye-log" as a number.
_WRITER_LOCK = int.from_bytes(b"rye-log", "big")
_CONNECT_SECONDS = 10
#: TCP keep-alives of a PostgreSQL connection: a lost peer is noticed within 20 seconds.
_KEEP_ALIVE = {"keepalives": 1, "keepalives_idle": 8, "keepalives_interval": 4, "keepalives_count": 3}
_SERVER_KEEP_ALIVE = {"tcp_keepalives_idle": "8", "tcp_keepalives_interval": "4", "tcp_keepalives_count": "3"}
_TCP_USER_TIMEOUT = 20_000
"""Milliseconds that sent data may stay unacknowledged."""


def engine_of(url: str, *, wait_seconds: float = 30.0, idle_seconds: float = 20.0) -> sa.Engine:
    """Return an engine for the database at ``url``, whatever tables it has. Raises RyeError if it cannot be opened."""
    try:
        address = sa.make_url(url)
        if address.get_backend_name() == "sqlite":
            engine = _sqlite(address, wait_seconds)
        elif address.get_backend_name() == "postgresql":
            if address.drivername == "postgresql":
                address = address.set(drivername="postgresql+psycopg")
            options = {"rye_wait_seconds": wait_seconds, "rye_idle_seconds": idle_seconds}
            arguments = {
                "connect_timeout": _CONNECT_SECONDS,
                "client_encoding": "utf8",
                "tcp_user_timeout": _TCP_USER_TIMEOUT,
                **_KEEP_ALIVE,
                **dict(address.query),
            }
            engine = sa.create_engine(
                address,
                pool_pre_ping=True,
                connect_args=arguments,
                execution_options=options,
                pool_timeout=wait_seconds,
            )
            event.listen(engine, "connect", _check_encoding)
        else:
            raise UsageError("bad-setting", f"{address.get_backend_name()} databases are not supported.", _HINT)
    except (sa.exc.SQLAlchemyError, ModuleNotFoundError) as error:
        raise RyeError("database-unavailable", f"The database cannot be opened: {_reason(error)}", _HINT) from error
    return engine


_HINT = "Check `database` in registry.toml (empty: SQLite in the data folder), and that the folder is writable."


@contextmanager
def reader(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction that reads one consistent state."""
    with _explaining(), engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            connection.execution_options(isolation_level="REPEATABLE READ")
        with connection.begin():
            yield connection


@contextmanager
def change(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction that writes tables outside the log; committed at the end of the block."""
    with _explaining(), engine.connect().execution_options(rye_writer=True) as connection, connection.begin():
        _bound_waiting(connection)
        yield connection


@contextmanager
def writer(engine: sa.Engine) -> Iterator[sa.Connection]:
    """The only writing transaction; committed at the end of the block, rolled back if the block raises."""
    with _explaining(), engine.connect().execution_options(rye_writer=True) as connection, connection.begin():
        _bound_waiting(connection)
        if connection.dialect.name == "postgresql":
            _LOCK.rows(connection)
        yield connection


def keep_alive(connection: sa.Connection) -> None:
    """Tell PostgreSQL that this writer is alive while it does slow work outside the database."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(1))


DriverError = sa.exc.SQLAlchemyError
"""The base class of SQLAlchemy's errors, which wrap the driver's."""


def explained(error: Exception) -> RyeError:
    """Turn a driver's error into a RyeError: ``database-busy``, ``storage-full`` or ``database-unavailable``."""
    original = getattr(error, "orig", None) or error
    state = getattr(original, "sqlstate", None) or ""
    name = getattr(original, "sqlite_errorname", None) or ""
    if isinstance(error, sa.exc.TimeoutError) or state in _BUSY_STATES or name.startswith(_BUSY_NAMES):
        return RyeError(
            "database-busy",
            "Another process kept the database locked for too long.",
            "Try again in a moment. If it fails again, find the process that holds the lock: a stopped server, a backup tool.",
        )
    if state in _FULL_STATES or name.startswith(_FULL_NAMES):
        return RyeError(
            "storage-full", f"The database's disk is full: {_reason(error)}", "Free some space, then try again."
        )
    return RyeError(
        "database-unavailable",
        f"The database failed: {_reason(error)}",
        "Check that it is running, and `database` in registry.toml. Then try again.",
    )


_BUSY_STATES = {
    "55P03",
    "57014",
    "40001",
    "40P01",
}  # lock not available, cancelled by a timeout, serialization, deadlock
_BUSY_NAMES = ("SQLITE_BUSY", "SQLITE_LOCKED")
_FULL_STATES = {"53100"}
_FULL_NAMES = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")


def _check_encoding(connection: Any, _record: object) -> None:
    """PostgreSQL: refuse a database that cannot hold every text. Raises RyeError ``database-encoding``."""
    encoding = connection.info.parameter_status("server_encoding")  # sent by the server when the connection opened
    if encoding != "UTF8":
        raise RyeError(
            "database-encoding",
            f"The database {connection.info.dbname} stores text as {encoding}, but the registry needs UTF8.",
            f"Create it with that encoding: createdb -E UTF8 -T template0 {connection.info.dbname}",
        )


@contextmanager
def _explaining() -> Iterator[None]:
    try:
        yield
    except _driver_errors() as error:
        raise explained(error) from error


def _driver_errors() -> tuple[type[Exception], ...]:
    """SQLAlchemy's errors, and the drivers' own, which prepared statements raise."""
    psycopg = sys.modules.get("psycopg")
    return (sa.exc.SQLAlchemyError, sqlite3.Error, *([psycopg.Error] if psycopg is not None else []))


def _reason(error: Exception) -> str:
    return first_line(getattr(error, "orig", None) or error)


def _bound_waiting(connection: sa.Connection) -> None:
    """PostgreSQL: limit how long this transaction waits for locks, and how long it may be silent."""
    if connection.dialect.name != "postgresql":
        return
    options = connection.get_execution_options()
    values = {
        "lock_timeout": str(int(options.get("rye_wait_seconds", 30.0) * 1000)),
        "idle_in_transaction_session_timeout": str(int(options.get("rye_idle_seconds", 20.0) * 1000)),
        **_SERVER_KEEP_ALIVE,
    }
    _SET_LOCALLY.first(connection, values)


_SET_LOCALLY = Prepared(
    sa.select(
        *(
            sa.func.set_config(name, sa.bindparam(name, type_=sa.Text), sa.true())
            for name in ("lock_timeout", "idle_in_transaction_session_timeout", *_SERVER_KEEP_ALIVE)
        )
    )
)
_LOCK = Prepared(sa.select(sa.func.pg_advisory_xact_lock(_WRITER_LOCK)))


def _sqlite(address: sa.URL, wait_seconds: float) -> sa.Engine:
    """Return an engine that creates a missing file now and never later: if the database disappears, that is an
    error.
    """
    path = address.database
    if path is None or path in ("", ":memory:"):
        raise UsageError("bad-setting", "A database in memory would lose the registry when the server stops.", _HINT)
    place = Path(path).absolute()
    if not place.exists():
        try:
            sqlite3.connect(place).close()
        except sqlite3.Error as error:
            raise RyeError("database-unavailable", f"The database cannot be opened: {error}.", _HINT) from error

    def open_file() -> sqlite3.Connection:
        return sqlite3.connect(
            f"file:{quote(str(place))}?mode=rw", uri=True, timeout=wait_seconds, check_same_thread=False
        )

    engine = sa.create_engine(address, creator=open_file, pool_timeout=wait_seconds)
    event.listen(engine, "begin", _begin_sqlite)

    def set_up(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # the driver must not begin or commit on its own
        _use_write_ahead_log(connection, wait_seconds)
        for pragma in ("synchronous=FULL", "foreign_keys=ON", "trusted_schema=OFF"):
            connection.execute(f"PRAGMA {pragma}")

    def remember(_connection: Any, record: Any) -> None:
        record.info["file"] = _file_of(place)

    def check(_connection: Any, record: Any, _proxy: Any) -> None:
        # If another file took the place of the open one, everything written to the open one would be lost.
        if record.info.get("file") != _file_of(place):
            raise sa.exc.DisconnectionError("the database file was replaced")

    event.listen(engine, "connect", set_up)
    event.listen(engine, "connect", remember)
    event.listen(engine, "checkout", check)
    return engine


def _file_of(place: Path) -> tuple[int, int] | None:
    try:
        facts = os.stat(place)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def _use_write_ahead_log(connection: sqlite3.Connection, wait_seconds: float) -> None:
    """Switch a new or restored file to a write-ahead log; on any other, this changes nothing.

    SQLite refuses the switch at once if another process is switching at the same moment, whatever the connection's
    timeout: both hold a lock that the other needs. So the waiting is done here.
    """
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith(_BUSY_NAMES) or time.monotonic() >= deadline:
                raise
        time.sleep(_SWITCH_RETRY_SECONDS)


_SWITCH_RETRY_SECONDS = 0.01


def _begin_sqlite(connection: sa.Connection) -> None:
    is_writer = connection.get_execution_options().get("rye_writer", False)
    driver: Any = connection.connection  # SQLAlchemy's own execution takes twice as long as the statement
    driver.execute("BEGIN IMMEDIATE" if is_writer else "BEGIN")
