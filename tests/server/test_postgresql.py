"""The same registry on PostgreSQL: a real server from the wheel, several processes, search."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from registry_server.accounts import audit_events, device_logins, members, publishers, roles, tokens, webhooks
from registry_server.accounts.times import now_text
from registry_server.embedded import start_embedded, stop_embedded
from registry_server.migrations import opening
from registry_server.search import documents, finding, words
from registry_server.search.documents import SearchDocument
from registry_server.search.finding import find
from registry_server.search.search_pool import search_engine
from registry_server.settings import Settings
from registry_server.storage import database, schema
from registry_server.storage.prepared import Prepared, Row, Values
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.client import RegistryClient
from rye.registry.protocol.wire import MORE
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Client, Publisher
from tests.scenes.registry_process import ORIGIN, run, token
from tests.server.test_search import DOCUMENTS

pytestmark = pytest.mark.processes


def test_the_tables_are_those_that_the_code_describes(empty: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    engine = opening.connect(empty)
    with database.reader(engine) as connection:
        differences = compare_metadata(MigrationContext.configure(connection), schema.metadata)
    engine.dispose()
    words = [str(difference) for difference in differences]
    assert [word for word in words if "comment" not in word and "documents_fts" not in word] == []


def test_new_items_are_found_at_once_and_leave_the_list_of_the_index_behind_the_answer(
    empty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("init", "--origin", ORIGIN, "--data", str(tmp_path / "data"), "--database", empty)
    waiting = Prepared(sa.text("SELECT gin_clean_pending_list('documents_fts_tokens')"))
    with LocalRegistry(tmp_path / "data", make=False) as local:
        sequencer, token = local.service.sequencer, local.token()
        after_batch, over = sequencer._behind.after_batch, threading.Semaphore(0)

        def noted() -> None:
            after_batch()
            over.release()

        def settled() -> bool:
            """A batch answers before it asks for the index to be settled."""
            return over.acquire(timeout=10) and sequencer._behind.finish(10)

        monkeypatch.setattr(sequencer._behind, "after_batch", noted)
        acme = local.owner("acme")
        assert settled()
        database.ask(sequencer.engine, waiting)
        with database.writer(sequencer.engine) as connection:
            documents.put(connection, SearchDocument("tool", "acme/by-itself", "1.0.0", "Added by no batch"))
        assert [hit.id for hit in searched(sequencer.engine, "itself")] == ["acme/by-itself"]
        assert local.publish(acme, "a/one", token).status_code == 200
        assert settled()
        ((pages,),) = database.ask(sequencer.engine, waiting)
        assert pages == 0, "the batch took its own row and the one before out of the list"
        assert [hit.id for hit in searched(sequencer.engine, "one")] == ["acme/a/one"]
        with database.writer(sequencer.engine) as connection:
            documents.put(connection, SearchDocument("tool", "acme/another", "1.0.0", "Added by no batch"))
        ((pages,),) = database.ask(sequencer.engine, waiting)
        assert pages > 0, "rows do wait"


def test_settling_waits_for_a_locked_index_no_longer_than_for_any_lock(empty: str) -> None:
    opening.connect(empty).dispose()
    engine, other = database.engine_of(empty, wait_seconds=0.3), sa.create_engine(empty)
    with other.connect() as connection:
        connection.execution_options(isolation_level="READ COMMITTED")
        with connection.begin():
            connection.exec_driver_sql("DROP INDEX documents_fts_tokens")  # as `rebuild` does, for minutes
            with pytest.raises(RyeError) as refused:
                documents.settle_index(engine)
    assert refused.value.code == "database-busy"
    engine.dispose()
    other.dispose()


def searched(engine: sa.Engine, query: str) -> tuple[finding.Hit, ...]:
    with database.reader(engine) as connection:
        return find(connection, query).hits


def test_a_database_that_cannot_hold_every_text_is_refused_with_the_command_that_makes_a_better_one(
    address: str, tmp_path: Path
) -> None:
    engine = sa.create_engine(address, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(
            sa.text("CREATE DATABASE plain ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
        )
    engine.dispose()
    plain = sa.make_url(address).set(database="plain").render_as_string(hide_password=False)
    data = tmp_path / "data"
    done = run("init", "--origin", ORIGIN, "--data", str(data), "--database", plain, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "error: The database plain stores text as SQL_ASCII, but the registry needs UTF8.\n"
        "hint: Create it with that encoding: createdb -E UTF8 -T template0 plain\n"
    )
    assert not data.exists()


def test_search_finds_the_same_as_on_sqlite(empty: str, tmp_path: Path) -> None:
    queries = (
        "deploy", "DEPLOY stag", "file system", "filesystem", "build elephants", "acme/workflows/build", "acme/workflows/",
        "'& | ! deploy", "a:*b de", "delpoy", "biuld project", "other/ops/deploy", "knowledge:deploy", "de", "\0deploy\\",
        "calls deploy on every machine", "de\ud800ploy",
    )  # fmt: skip
    found = []
    for address in (empty, f"sqlite:///{tmp_path / 'registry.db'}"):
        opening.connect(address).dispose()
        writing = opening.connect(address)
        with database.writer(writing) as connection:
            documents.replace(connection, [], DOCUMENTS)
            documents.put(connection, DOCUMENTS[1])
            documents.remove(connection, "tool", "acme/file-system/read")
            documents.put(connection, DOCUMENTS[2])
            assert documents.index_problems(connection) == []
            connection.execute(sa.text("DELETE FROM search_grams WHERE word = 'build'"))
            assert documents.index_problems(connection) != []
            documents.refill(connection)
            assert documents.index_problems(connection) == []
        engine = search_engine(Settings(data=tmp_path, database=address))
        with database.reader(engine) as connection:
            answers = [find(connection, query) for query in queries]
            answers += [find(connection, "deploy", visible=names) for names in (["acme"], [f"n{n}" for n in range(99)])]
            answers += [find(connection, "deploy", namespace="other", kind="tool", limit=1, offset=1)]
            found.append(answers)
        with pytest.raises(RyeError), database.reader(engine) as connection:
            connection.execute(sa.text("DELETE FROM documents"))
        engine.dispose()
        writing.dispose()
    assert found[0] == found[1]
    assert found[0][0].total == 4


@pytest.mark.parametrize(
    "damage",
    ["documents_fts SET namespace = 'acme'", "documents_fts SET tokens = tokens || array_to_tsvector(ARRAY['evil*'])",
     "documents_fts SET tokens = ts_delete(tokens, 'dep*')", "documents_fts SET tokens = ts_delete(tokens, '#16384.0')",
     "documents_fts SET number = 99", "documents SET terms = ' free:z '"],
)  # fmt: skip
def test_what_was_changed_in_the_index_is_found_and_made_again(indexed: sa.Engine, damage: str) -> None:
    with database.writer(indexed) as connection:
        connection.execute(
            sa.text(
                f"UPDATE {damage} WHERE number IN (SELECT number FROM documents WHERE id = 'other/guides/deploying')"
            )
        )
        assert "The search index is wrong for knowledge:other/guides/deploying." in documents.index_problems(connection)
        documents.refill(connection)
        assert documents.index_problems(connection) == []


ANIMALS = ("lion", "tiger", "bear", "wolf", "otter", "seal", "moose", "camel", "llama", "zebra")


def test_words_of_many_items_are_found_in_the_newest_and_rare_ones_anywhere(
    indexed: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "BLOCK_ITEMS", (4, 16))
    monkeypatch.setattr(finding, "CANDIDATES", 3)
    zoo = [
        SearchDocument("tool", f"zoo/n{number:02}/{ANIMALS[number % 10]}", "1.0.0", "A cage") for number in range(50)
    ]
    with database.writer(indexed) as connection:
        documents.replace(connection, [], zoo)
        assert documents.index_problems(connection)  # those before have other blocks
        documents.refill(connection)
        assert documents.index_problems(connection) == []
    asked = asked_of(monkeypatch)
    expected = {
        "cage": (MORE, range(40, 50)),
        "zebra": (MORE, range(50)),
        "zebra cage": (MORE, range(50)),
        "n07": (1, [7]),
    }
    with database.reader(indexed) as connection:
        for query, (total, among) in expected.items():
            found = find(connection, query)
            assert found.total == total, query
            assert found.hits, query
            assert {int(hit.id[5:7]) for hit in found.hits} <= set(among), query
        assert find(connection, "zoo/n09/zebra").hits[0].id == "zoo/n09/zebra"
        assert find(connection, "cage", namespace="zoo").total == MORE
        assert find(connection, "cage", visible=["other"]).total == 0
        assert find(connection, "n07", visible=["zoo", *(f"n{number}" for number in range(70_000))]).total == 1
        assert find(connection, "cage nowhere").total == MORE  # any of the words
        assert find(connection, "zebrra").total == MORE
        asked.clear()
        assert find(connection, "cagge nowherre").total == 0  # asks for both, corrects both, asks for any
        assert sum("max(number)" in text for text, _ in asked) == 1
        asked.clear()
        find(connection, "zebra cage")
        counts = [values for text, values in asked if "SELECT (SELECT count(*)" in text]
        parts = [part for values in counts for name, part in values.items() if name.startswith("asked")]
        assert len(counts) <= 2, "a round trip for each step that has to know"
        assert len(parts) == len(set(parts)), "no part is counted twice"


def asked_of(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """The SQL and the values of every prepared statement that is asked for rows from now on."""
    asked: list[tuple[str, Any]] = []
    rows = Prepared.rows

    def noted(self: Prepared, connection: sa.Connection, values: Values = {}) -> list[Row]:  # noqa: B006
        asked.append((self._text(connection, values).sql, values))
        return rows(self, connection, values)

    monkeypatch.setattr(Prepared, "rows", noted)
    return asked


def test_a_search_looks_up_namespaces_in_the_index_however_many_there_are(
    indexed: sa.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, the plan for 64 namespaces was to read the whole table."""
    engine = search_engine(Settings(data=tmp_path, database=indexed.url.render_as_string(hide_password=False)))
    asked = asked_of(monkeypatch)
    with database.reader(engine) as connection:
        find(connection, "deploy", visible=[f"n{number}" for number in range(64)])
        searches = [(statement, values) for statement, values in asked if "documents_fts" in statement]
        assert searches
        for statement, values in searches:
            plan = "\n".join(connection.exec_driver_sql(f"EXPLAIN {statement}", values).scalars())
            assert "Bitmap Index Scan on documents_fts_tokens" in plan
            assert "Seq Scan on documents_fts" not in plan
    engine.dispose()


@pytest.fixture
def indexed(empty: str) -> Iterator[sa.Engine]:
    """A database with documents and their index."""
    engine = opening.connect(empty)
    with database.writer(engine) as connection:
        documents.replace(connection, [], DOCUMENTS)
        assert documents.index_problems(connection) == []
    yield engine
    engine.dispose()


def test_two_servers_share_one_log(empty: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    run("init", "--origin", ORIGIN, "--data", str(data), "--database", empty)
    second = tmp_path / "second"
    shutil.copytree(data, second)
    shutil.rmtree(second / "public")
    (second / "public").symlink_to(data / "public")
    shutil.rmtree(second / "uploads", ignore_errors=True)
    servers = [start_embedded(data), start_embedded(second)]
    try:
        secret = token(data)
        clients = [Client(url, secret) for _, url in servers]
        acme = Publisher("acme")
        clients[0].statements(acme.claim()).raise_for_status()
        failed: list[str] = []

        def publish(client: Client, label: str) -> None:
            for number in range(8):
                answer = client.publish(acme, f"a/{label}_{number}")
                if answer.status_code != 200:
                    failed.append(answer.text)

        threads = [threading.Thread(target=publish, args=pair) for pair in zip(clients, ("one", "two"), strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert run("verify", "--data", str(data), check=False).returncode == 0
        store, cache = StateStore(tmp_path / "state"), Cache(tmp_path / "cache")
        identities = [
            Identity("directive", f"acme/a/{label}_{number}") for label in ("one", "two") for number in range(8)
        ]
        for client in clients:
            with RegistryClient.open(
                client.url, accept_root=lambda _proposal: True, store=store, cache=cache
            ) as reader:
                assert all(reader.releases(identities).values())
    finally:
        for process, _ in servers:
            stop_embedded(process)


def test_accounts_roles_devices_events_and_webhooks_work_there(empty: str) -> None:
    engine = opening.connect(empty)
    now = now_text()
    with database.change(engine) as connection:
        alice = members.create(connection, "alice", now).id
        roles.create_team(connection, "web", now)
        roles.join(connection, "web", alice)
        roles.give(connection, "acme", "publisher", team="web")
        roles.give(connection, "site", "owner", account=alice)
        token = tokens.create(connection, "ci", ("acme",), now, account=alice, seconds=60)
        publishers.add(connection, "acme", publishers.GITHUB, "a/b", "x.yml", "", ("stage",), now)
        begun = device_logins.begin(connection, "rye", now)
        assert device_logins.decide(connection, begun.user_code, alice, True, now)
        assert device_logins.poll(connection, begun.device_code, now)[0] == "token"
        webhooks.add(connection, "https://hooks.example.com/x", "", (), now)
        webhooks.collect(connection, ORIGIN, now)
        for number in range(3):
            audit_events.record(connection, now, "test", str(number))
    with database.reader(engine) as connection:
        found = tokens.check(connection, token)
        assert found is not None
        assert found.roles == (("acme", "publisher"), ("site", "owner"))
        assert audit_events.problems(connection) == []
        assert audit_events.head(connection)[0] == 3
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: _note(engine, str(number)), range(12)))
    with database.reader(engine) as connection:
        assert audit_events.problems(connection) == []
        assert audit_events.head(connection)[0] == 15
    engine.dispose()


def _note(engine: sa.Engine, subject: str) -> None:
    with database.change(engine) as connection:
        audit_events.record(connection, now_text(), "test", subject)
