"""What a publish asks of the database: messages to PostgreSQL that are waited for, statements that SQLite runs
(registry_server/sequencer/sequencer.py, registry_server/storage/statement_batch.py).

The bounds count work, not time. With a network between server and database, each message takes a round trip, most of
them while the writer's lock is held.
"""

from __future__ import annotations

import sqlite3
import threading
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.waiting import Wait

from registry_server.search import documents
from registry_server.sequencer.leadership import Term
from registry_server.sequencer.ledger import Ledger
from registry_server.storage import database
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, error_code
from tests.scenes.registry_process import ORIGIN, run

pytestmark = pytest.mark.processes

QUIET = "heartbeat_check_seconds = 3600\n"
ONES_OWN = ("asyncio", "sequencer")
"""Threads that work for requests; others do things in the background."""


class Trips:
    """Counts how often psycopg sends something and then waits for the answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.by_thread: Counter[str] = Counter()
        wait = psycopg.Connection.wait

        def waiting(connection: Any, generator: Any, *options: Any, **others: Any) -> Any:
            return wait(connection, self._watched(generator), *options, **others)

        monkeypatch.setattr(psycopg.Connection, "wait", waiting)

    def _watched(self, generator: Generator[Wait, Any, Any]) -> Generator[Wait, Any, Any]:
        thread = threading.current_thread().name.partition("_")[0]
        try:
            state = next(generator)
            while True:
                self.by_thread[thread] += state == Wait.R
                state = generator.send((yield state))
        except StopIteration as end:
            return end.value

    def of(self, work: Callable[[], object]) -> tuple[int, int]:
        """The round trips before the sequencer, and the sequencer's."""
        self.by_thread.clear()
        work()
        return self.by_thread["asyncio"], self.by_thread["sequencer"]


def publish(local: LocalRegistry, token: str, publisher: Publisher, *items: tuple[str, str]) -> None:
    """Publish items, by id and version, in one request with their files."""
    files = [publisher.file(local_id, version) for local_id, version in items]
    notes = [
        publisher.note(publisher.release(local_id, data, version))
        for (local_id, version), data in zip(items, files, strict=True)
    ]
    blobs = [b64encode(data).decode() for data in files]
    answer = local.post("/api/v1/statements", token, json={"notes": notes, "blobs": blobs})
    assert answer.status_code == 200, answer.text
    assert [result["duplicate"] for result in answer.json()["results"]] == [False] * len(items)


@pytest.fixture
def on_postgresql(empty: str, tmp_path: Path) -> Iterator[LocalRegistry]:
    data = tmp_path / "data"
    run("init", "--origin", ORIGIN, "--data", str(data), "--database", empty)
    local = LocalRegistry(data, QUIET, make=False)
    yield local
    local.close()


@pytest.mark.thorough
def test_a_publish_alone_makes_few_round_trips_to_postgresql(
    on_postgresql: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    # behind the answers it takes another connection of the pool, on which nothing may be prepared yet
    monkeypatch.setattr(documents, "settle_index", lambda _engine: False)
    local, acme, token = on_postgresql, Publisher("acme"), on_postgresql.token()
    local.statements(token, acme.claim()).raise_for_status()
    for number in range(7):  # until psycopg and PostgreSQL have prepared the statements
        publish(local, token, acme, (f"warm/up_{'abcdefg'[number]}", "1.0.0"))
        publish(local, token, acme, ("warm/up_a", f"1.0.{number + 1}"))
    trips = Trips(monkeypatch)
    before, sequencing = trips.of(lambda: publish(local, token, acme, ("work/new", "1.0.0")))
    assert (before, sequencing) == (2, 7)
    before, sequencing = trips.of(lambda: publish(local, token, acme, ("work/new", "1.0.1")))
    assert (before, sequencing) <= (2, 9)
    many = [(f"many/item_{chr(97 + number // 5)}{chr(110 + number % 5)}", "1.0.0") for number in range(20)]
    before, sequencing = trips.of(lambda: publish(local, token, acme, *many))
    assert before + sequencing <= 14  # new combinations of statements are not prepared yet


def test_no_message_reaches_postgresql_in_parts_while_the_lock_is_held(
    on_postgresql: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL notices a silent writer only between whole messages: one that is stopped within a pipeline keeps the
    lock for as long as it is stopped."""
    pipelines: list[str] = []
    monkeypatch.setattr(psycopg.Connection, "pipeline", lambda _: pipelines.append(threading.current_thread().name))
    local, acme, token = on_postgresql, Publisher("acme"), on_postgresql.token()
    local.statements(token, acme.claim()).raise_for_status()
    publish(local, token, acme, *((f"many/item_{letter}", "1.0.0") for letter in "abcd"))
    publish(local, token, acme, ("many/item_a", "1.0.1"), ("many/item_e", "1.0.0"))
    local.statements(token, acme.yank("many/item_b")).raise_for_status()
    assert pipelines == []
    assert run("verify", "--data", str(local.data), check=False).returncode == 0


def test_a_batch_whose_term_is_over_is_not_committed(
    on_postgresql: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check is part of the statement that writes the batch, and of its own where nothing is written."""
    local, acme, token = on_postgresql, Publisher("acme"), on_postgresql.token()
    claim = acme.claim()
    before = local.statements(token, claim).json()["size"]
    data = acme.file("work/new")
    local.blob(data, token).raise_for_status()
    with monkeypatch.context() as patched:
        patched.setattr("registry_server.sequencer.sequencer.take", lambda *_: Term(77, False))
        for note in (acme.note(acme.release("work/new", data)), claim):
            refused = local.statements(token, note)
            assert (refused.status_code, error_code(refused)) == (503, "database-busy")
    with database.reader(local.service.engine) as connection:
        assert Ledger(connection).size == before
    assert local.publish(acme, "work/new", token).json()["results"] == [{"log": before, "duplicate": False}]


def test_a_connection_that_the_server_closed_is_replaced_unnoticed(on_postgresql: LocalRegistry, empty: str) -> None:
    local, acme, token = on_postgresql, Publisher("acme"), on_postgresql.token()
    local.statements(token, acme.claim()).raise_for_status()
    with psycopg.connect(empty.replace("postgresql+psycopg", "postgresql"), autocommit=True) as other:
        for number in range(3):
            other.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            publish(local, token, acme, (f"work/after_{'abc'[number]}", "1.0.0"))


def test_a_connection_that_breaks_before_its_transaction_began_is_replaced_once(
    on_postgresql: LocalRegistry, empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the server closed it between the look at the connection and the first message."""
    monkeypatch.setattr(database, "_check_silent", lambda *_: None)
    engine = database.engine_of(empty)
    with psycopg.connect(empty.replace("postgresql+psycopg", "postgresql"), autocommit=True) as other:
        for opened in (database.reader, database.change, database.writer):
            with database.reader(engine) as connection:
                pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
            with opened(engine) as connection:
                assert connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one() != pid
    engine.dispose()


class Counting(sqlite3.Connection):
    """Counts the statements that it is given; one for many rows counts once."""

    given: Counter[str] = Counter()

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        _count(sql)
        return super().execute(sql, *values)

    def cursor(self, *_: Any, **__: Any) -> Any:
        return super().cursor(CountingCursor)

    def commit(self) -> None:
        if self.in_transaction:
            _count("COMMIT")
        super().commit()


class CountingCursor(sqlite3.Cursor):
    def execute(self, sql: str, values: Any = (), /) -> CountingCursor:
        _count(sql)
        super().execute(sql, values)
        return self

    def executemany(self, sql: str, rows: Any, /) -> CountingCursor:
        _count(sql)
        super().executemany(sql, rows)
        return self


def _count(sql: str) -> None:
    if threading.current_thread().name.startswith(ONES_OWN):
        Counting.given[sql] += 1


def test_a_publish_alone_gives_sqlite_few_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *given, **options: connect(*given, **{**options, "factory": Counting})
    )
    local = LocalRegistry(tmp_path / "data", QUIET)
    try:
        acme, token = Publisher("acme"), local.token()
        local.statements(token, acme.claim()).raise_for_status()
        publish(local, token, acme, ("warm/up", "1.0.0"))
        Counting.given.clear()
        publish(local, token, acme, ("work/new", "1.0.0"))
        assert Counting.given.total() <= 24, Counting.given
        assert max(Counting.given.values()) <= 2, Counting.given
    finally:
        local.close()
