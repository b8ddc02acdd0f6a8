"""Opens the database, and holds the one lock that elects the log's writer.

SQLite and PostgreSQL run the same SQLAlchemy Core code; the differences are in this module. Every transaction is
explicit:

* :func:`ask` runs one query by itself: a single statement sees one consistent state without a transaction.
* :func:`reader` sees one consistent state and waits for no other transaction.
* :func:`change` and :func:`changing` write tables that are not part of the log (tokens). On PostgreSQL they never wait for
  the log's writer; SQLite has one lock for all writes, so there they wait for the running batch.
* :func:`writer` is exclusive among all processes on the same database (SQLite: ``BEGIN IMMEDIATE``; PostgreSQL: an
  advisory lock until the transaction ends). It waits at most ``wait_seconds``. PostgreSQL ends the session of a writer
  that is silent for ``idle_seconds``, because it is stopped or unplugged, so that another process can take over.

SQLite runs with a write-ahead log and ``synchronous=FULL``: a committed transaction survives a power cut.

PostgreSQL may be a network away, so round trips count. A transaction begins with one message, which also carries its
limits, the writer's lock, and queries without parameters (:func:`writer_asking`). It is always one message with its own
end, never a pipeline: PostgreSQL measures how long a session is silent only after the end of a message, so a leader that
is stopped in a half-sent pipeline would keep the lock. The pool does not ping: an idle connection that has something to
read was closed by the server, and one that breaks before its transaction has begun is replaced once.

What is committed is durable, whatever PostgreSQL's default: a transaction that writes asks for ``synchronous_commit`` in
its first message. :func:`undurable` tells what the whole server must have switched on for that.

Errors of the driver become RyeErrors: ``database-busy`` (locked for too long), ``storage-full``, ``writer-silent``
(PostgreSQL ended a transaction in which this process was silent for too long), ``database-unavailable``. A PostgreSQL
database that is not in UTF-8 is refused (``database-encoding``).
"""

from __future__ import annotations

import os
import select
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event

from registry_server.storage.first_line import first_line
from registry_server.storage.prepared import Prepared, Row, Values
from rye.errors import RyeError, UsageError

_T = TypeVar("_T")
#: Key of PostgreSQL's advisory lock: the ASCII text "rye-log" as a number.
_WRITER_LOCK = int.from_bytes(b"rye-log", "big")
_CONNECT_SECONDS = 10
#: TCP keep-alives of a PostgreSQL connection: a lost peer is noticed within 20 seconds.
_KEEP_ALIVE = {"keepalives": 1, "keepalives_idle": 8, "keepalives_interval": 4, "keepalives_count": 3}
_SERVER_KEEP_ALIVE = {"tcp_keepalives_idle": 8, "tcp_keepalives_interval": 4, "tcp_keepalives_count": 3}
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
                isolation_level="AUTOCOMMIT",  # the driver must not begin on its own: that takes a round trip
                connect_args=arguments,
                execution_options=options,
                pool_timeout=wait_seconds,
            )
            event.listen(engine, "connect", _check_encoding)
            event.listen(engine, "checkout", _check_silent)
            event.listen(engine, "begin", _begin_postgresql)
        else:
            raise UsageError("bad-setting", f"{address.get_backend_name()} databases are not supported.", _HINT)
    except (sa.exc.SQLAlchemyError, ModuleNotFoundError) as error:
        raise RyeError("database-unavailable", f"The database cannot be opened: {_reason(error)}", _HINT) from error
    return engine


_HINT = "Check `database` in registry.toml (empty: SQLite in the data folder), and that the folder is writable."


def ask(engine: sa.Engine, question: Prepared, values: Values = {}) -> list[Row]:  # noqa: B006
    """Return the rows of a single query, outside any transaction."""
    with _explaining():
        connection, rows = _opened(engine, lambda connection: question.rows(connection, values))
        connection.close()
    return rows


@contextmanager
def reader(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction that reads one consistent state."""
    with _explaining(), _transaction(engine, _READ) as (connection, _):
        yield connection


@contextmanager
def change(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction that writes tables outside the log; committed at the end of the block."""
    with _explaining(), _transaction(engine, _CHANGE) as (connection, _):
        yield connection


def changing(engine: sa.Engine, work: Callable[[sa.Connection], _T]) -> _T:
    """Do ``work`` in a transaction like :func:`change`, and return its result.

    Two transactions on PostgreSQL can find the same unique value free at the same moment, such as the name of a new account, or
    each wait for what the other one holds. One of them then fails; its work is done again, and finds what the other one wrote.
    """
    for is_last in (*(False,) * _MEETINGS, True):
        try:
            with _transaction(engine, _CHANGE) as (connection, _):
                return work(connection)
        except driver_errors() as error:
            if is_last or _state(error) not in _MET_STATES:
                raise explained(error) from error
    raise AssertionError("the last try returns or raises")


@contextmanager
def writer(engine: sa.Engine) -> Iterator[sa.Connection]:
    """The only writing transaction; committed at the end of the block, rolled back if the block raises."""
    with writer_asking(engine) as (connection, _):
        yield connection


@contextmanager
def writer_asking(engine: sa.Engine, *questions: Prepared) -> Iterator[tuple[sa.Connection, list[list[Row]]]]:
    """Like :func:`writer`, with the rows of queries without parameters, asked once the lock is held."""
    with _explaining(), _transaction(engine, _WRITE, questions) as (connection, answers):
        yield connection, answers


def keep_alive(connection: sa.Connection) -> None:
    """Tell PostgreSQL that this writer is alive while it does slow work outside the database."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(1))


def ping(connection: sa.Connection) -> None:
    """The same from another thread than the writer's, which must not be using the connection meanwhile for more than one
    message at a time."""
    driver: Any = connection.connection.driver_connection
    driver.execute("SELECT 1")


_MOST_PAGES = 16_000
"""Pages of SQLite's write-ahead log after which a commit copies them, because nobody else did: 64 MB."""


def checkpoint(engine: sa.Engine) -> None:
    """Copy SQLite's write-ahead log into the database's file, while others read and write; on PostgreSQL, do nothing.

    It syncs both files, so no commit should have to do it. What fails is tried again the next time. How much there is to
    copy is not looked up: closing a file of an open database gives up this process's locks on it
    (https://www.sqlite.org/howtocorrupt.html, 2.2).
    """
    if engine.dialect.name != "sqlite":
        return
    with suppress(*driver_errors()), engine.connect() as connection:
        driver: Any = connection.connection
        driver.execute("PRAGMA wal_checkpoint(PASSIVE)").close()


def undurable(engine: sa.Engine) -> list[str]:
    """Return the settings of the PostgreSQL server that are off although what is committed can be lost without them:
    ``fsync``, ``full_page_writes``.
    """
    if engine.dialect.name != "postgresql":
        return []
    return [row[0] for row in ask(engine, _UNDURABLE)]


_UNDURABLE = Prepared(
    sa.text(
        "SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name"
    )
)

DriverError = sa.exc.SQLAlchemyError
"""The base class of SQLAlchemy's errors, which wrap the driver's."""


def explained(error: Exception) -> RyeError:
    """Turn a driver's error into a RyeError: ``database-busy``, ``storage-full``, ``writer-silent`` or
    ``database-unavailable``."""
    original = getattr(error, "orig", None) or error
    state = _state(error)
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
    if state == _SILENT_STATE:
        return RyeError(
            "writer-silent",
            "PostgreSQL ended a transaction of this server, which did nothing in it for longer than `leader_seconds`.",
            "Nothing was written. Try again. The server was stopped for a while, its machine is overloaded, or its disk hangs.",
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
_SILENT_STATE = "25P03"
_MET_STATES = {"23505", "40P01"}
"""A unique value that another transaction has just written; a deadlock with another one."""
_MEETINGS = 4
_BUSY_NAMES = ("SQLITE_BUSY", "SQLITE_LOCKED")
_FULL_STATES = {"53100"}
_FULL_NAMES = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")


def _state(error: Exception) -> str:
    """PostgreSQL's code of an error (SQLSTATE); empty: none."""
    return getattr(getattr(error, "orig", None) or error, "sqlstate", None) or ""


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
    except driver_errors() as error:
        raise explained(error) from error


def driver_errors() -> tuple[type[Exception], ...]:
    """SQLAlchemy's errors, and the drivers' own, which prepared statements raise."""
    psycopg = sys.modules.get("psycopg")
    return (sa.exc.SQLAlchemyError, sqlite3.Error, *([psycopg.Error] if psycopg is not None else []))


def _reason(error: Exception) -> str:
    return first_line(getattr(error, "orig", None) or error)


# -- transactions --------------------------------------------------------------------------------------------------------

_READ, _CHANGE, _WRITE = "read", "change", "write"


@contextmanager
def _transaction(
    engine: sa.Engine, kind: str, questions: Sequence[Prepared] = ()
) -> Iterator[tuple[sa.Connection, list[list[Row]]]]:
    """A transaction, and the answers to the questions with which it began."""

    def start(connection: sa.Connection) -> tuple[sa.RootTransaction, list[list[Row]]]:
        return connection.begin(), _start(connection, kind, questions)

    connection, (transaction, answers) = _opened(engine, start)
    with connection, transaction:
        yield connection, answers


def _opened(engine: sa.Engine, start: Callable[[sa.Connection], _T]) -> tuple[sa.Connection, _T]:
    """Return a connection on which ``start`` has succeeded, and its result.

    ``start`` is tried again on a new connection if the pool's was broken, so it must not have changed anything by then.
    """
    attempts = 2
    while True:
        connection = engine.connect().execution_options(rye_begins=True)
        try:
            return connection, start(connection)
        except BaseException as error:
            attempts -= 1
            is_broken = isinstance(error, driver_errors()) and _is_broken(connection)
            if is_broken:
                connection.invalidate()
            connection.close()
            if not is_broken or not attempts:
                raise


def _start(connection: sa.Connection, kind: str, questions: Sequence[Prepared]) -> list[list[Row]]:
    driver: Any = connection.connection  # SQLAlchemy's own execution takes twice as long as the statement
    if connection.dialect.name == "sqlite":
        driver.execute("BEGIN" if kind == _READ else "BEGIN IMMEDIATE")
        return [question.rows(connection) for question in questions]
    first = _first_statements(connection, kind)
    with driver.cursor() as cursor:
        cursor.execute("; ".join([*first, *(question.text(connection) for question in questions)]), prepare=False)
        for _ in first:
            cursor.nextset()
        answers = []
        for _ in questions:
            answers.append(cursor.fetchall())
            cursor.nextset()
    return answers


def _first_statements(connection: sa.Connection, kind: str) -> list[str]:
    """PostgreSQL: begin, limit how long the transaction waits for locks and how long it may be silent, and lock."""
    if kind == _READ:
        return ["BEGIN ISOLATION LEVEL REPEATABLE READ"]
    options = connection.get_execution_options()
    limits = {
        "lock_timeout": int(options.get("rye_wait_seconds", 30.0) * 1000),
        "idle_in_transaction_session_timeout": int(options.get("rye_idle_seconds", 20.0) * 1000),
        **_SERVER_KEEP_ALIVE,
    }
    settings = ", ".join([*(f"set_config('{name}', '{value}', true)" for name, value in limits.items()), _DURABLE])
    lock = [f"SELECT pg_advisory_xact_lock({_WRITER_LOCK})"] if kind == _WRITE else []
    return ["BEGIN", f"SELECT {settings}", *lock]


_DURABLE = (
    "set_config('synchronous_commit', CASE current_setting('synchronous_commit') "
    "WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)"
)
"""Whatever the default of the server, the database or the role; ``remote_apply`` promises even more."""


def _is_broken(connection: sa.Connection) -> bool:
    """Whether the connection to PostgreSQL is lost."""
    driver: Any = connection.connection.driver_connection
    return connection.dialect.name == "postgresql" and bool(driver.closed)


def _check_silent(connection: Any, _record: object, _proxy: object) -> None:
    """PostgreSQL: refuse a connection of the pool that the server has closed.

    Only a farewell, or the end of the stream, can wait to be read on an idle connection. Keep-alives end the stream of a
    server that disappeared.
    """
    if connection.closed or _is_readable(connection.fileno()):
        raise sa.exc.DisconnectionError("the server closed the connection")


def _is_readable(socket: int) -> bool:
    """Whether reading from the socket would return at once: data, the end of the stream, or an error."""
    if sys.platform == "win32":  # which has no poll; elsewhere, select fails for large numbers
        return bool(select.select([socket], [], [], 0)[0])
    waiting = select.poll()
    waiting.register(socket, select.POLLIN)
    return bool(waiting.poll(0))


def _begin_postgresql(connection: sa.Connection) -> None:
    """Begin a transaction that none of this module's functions begins."""
    options = connection.get_execution_options()
    if not options.get("rye_begins") and options.get("isolation_level") != "AUTOCOMMIT":
        driver: Any = connection.connection
        with driver.cursor() as cursor:
            cursor.execute("BEGIN")


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
            with suppress(FileExistsError):  # SQLite would let other users read it, with the secrets of webhooks
                os.close(os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            sqlite3.connect(place).close()
        except (sqlite3.Error, OSError) as error:
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
        for pragma in (
            "synchronous=FULL",
            "foreign_keys=ON",
            "trusted_schema=OFF",
            f"wal_autocheckpoint={_MOST_PAGES}",
        ):
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
    """Begin a transaction that none of this module's functions begins."""
    options = connection.get_execution_options()
    if not options.get("rye_begins"):
        driver: Any = connection.connection
        driver.execute("BEGIN IMMEDIATE" if options.get("rye_writer", False) else "BEGIN")
