"""Connections that stay open between transactions: never one that met an error, nor one to a file that was replaced
(registry_server/storage/database.py)."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from registry_server.storage import database
from registry_server.storage.prepared import Prepared
from rye.errors import RyeError

ROWS = Prepared(sa.text("SELECT a FROM t ORDER BY a"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "some.db"


@pytest.fixture
def engine(place: Path) -> Iterator[sa.Engine]:
    made = database.engine_of(f"sqlite:///{place}")
    write(made, "CREATE TABLE t (a)")
    yield made
    made.dispose()


def write(engine: sa.Engine, *texts: str) -> None:
    with database.writer(engine) as connection:
        for text in texts:
            connection.exec_driver_sql(text)


def driver_of(connection: sa.Connection) -> object:
    return connection.connection.driver_connection


def test_the_writer_has_one_of_its_own_and_readers_at_the_same_time_have_two(engine: sa.Engine) -> None:
    with database.writer(engine) as connection:
        writers = driver_of(connection)
        assert database.connections(engine) == (1, 0)
    with database.reader(engine) as connection, database.reader(engine) as other:
        drivers = [driver_of(connection), driver_of(other)]
        assert len({writers, *drivers}) == 3
        assert database.connections(engine) == (2, 1)
    assert database.connections(engine) == (0, 3)
    with database.writer(engine) as connection, database.reader(engine) as other:
        assert driver_of(connection) is writers
        assert driver_of(other) in drivers


def test_options_that_one_block_sets_are_not_those_of_the_next(engine: sa.Engine) -> None:
    with database.reader(engine) as connection:
        connection.execution_options(stream_results=True)
    with database.reader(engine) as connection:
        assert "stream_results" not in connection.get_execution_options()


def test_what_a_block_that_raises_has_written_is_in_no_later_transaction(engine: sa.Engine) -> None:
    for last in ("INSERT INTO nowhere VALUES (2)", "not a statement"):
        with pytest.raises(RyeError):
            write(engine, "INSERT INTO t VALUES (1)", last)
    write(engine, "INSERT INTO t VALUES (4)")
    assert database.ask(engine, ROWS) == [(4,)]


def test_nothing_is_written_to_a_file_that_another_one_has_replaced(engine: sa.Engine, place: Path) -> None:
    write(engine, "INSERT INTO t VALUES (1)")
    other = place.with_name("other.db")
    with sqlite3.connect(other) as restored:
        restored.execute("CREATE TABLE t (a)")
    restored.close()
    for end in ("-wal", "-shm"):
        place.with_name(f"{place.name}{end}").unlink(missing_ok=True)
    os.replace(other, place)
    write(engine, "INSERT INTO t VALUES (2)")
    assert database.ask(engine, ROWS) == [(2,)]


def test_a_file_that_has_gone_is_an_error_and_not_made_again(engine: sa.Engine, place: Path) -> None:
    place.unlink()
    with pytest.raises(RyeError) as caught:
        database.ask(engine, ROWS)
    assert caught.value.code == "database-unavailable"
    assert not place.exists()


def test_disposing_of_the_engine_closes_them(engine: sa.Engine, place: Path) -> None:
    with database.reader(engine) as connection:
        driver = driver_of(connection)
    engine.dispose()
    assert isinstance(driver, sqlite3.Connection)
    with pytest.raises(sqlite3.ProgrammingError):
        driver.execute("SELECT 1")
    assert not place.with_name(f"{place.name}-wal").exists()
