"""A database that an older revision filled, opened by this version: the same tables as if this version had filled them.

This does not need the old program: its rows are today's without what later revisions added. In 0001 only yanked releases counted
as withdrawn; 0002 has snapshots and a head of protocol 1.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from msgspec.structs import replace

import registry_server
from registry_server.accounts import registry_keys, tokens
from registry_server.migrations import opening, upgrading
from registry_server.search import documents as search
from registry_server.search.finding import find
from registry_server.sequencer import search_offers
from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.batching import is_trouble
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.sequencer import Receipt, Sequencer
from registry_server.sequencer.tree import Edge
from registry_server.settings import Settings
from registry_server.storage import database, schema
from registry_server.storage.objects import Folder
from registry_server.upkeep import audit
from registry_server.upkeep.founding import found
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.client import RegistryClient
from rye.registry.protocol import notes, wire
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.merkle import leaf_hash
from rye.registry.protocol.notes import Signer
from rye.registry.protocol.statements import (
    Advisory,
    Checkpoint,
    Deprecation,
    FormerSnapshot,
    Keyset,
    Logged,
    Revocation,
    Snapshot,
    Yank,
    parse,
)
from rye.registry.protocol.wire import index_name
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from rye.registry.transport.file import FileTransport
from rye.registry.trust import auditing
from tests.scenes.effort import rest_thorough
from tests.scenes.publisher import Publisher
from tests.scenes.registry_process import ORIGIN, run

pytestmark = pytest.mark.processes

BLOB = b"x"
BLOB_SHA256 = hashlib.sha256(BLOB).hexdigest()
START = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=2)
"""Later than the creation of the registry, however long that is after collection."""
ARBITRARY = {("documents", "number"), ("map_nodes", "since")}
"""Columns that may differ between two databases of the same registry."""
ACCOUNT_TABLES = {
    *("accounts", "account_links", "sessions", "teams", "team_members", "namespace_roles", "trusted_publishers"),
    *("exchanged_jwts", "device_logins", "stages", "stage_files", "audit_events", "audit_head", "webhooks"),
    *("deliveries", "blob_namespaces", "dependents", "team_groups"),
}
ACCOUNT_COLUMNS = {
    *(("tokens", name) for name in ("account", "scopes", "expires", "last_used")),
    ("submissions", "account"),
}
SEARCH_TABLES = {"search_words", "search_grams"}
NEW_TABLES = {
    "0001": {"leader", "takedowns", "submissions", "map_nodes", *ACCOUNT_TABLES, *SEARCH_TABLES},
    "0002": {"map_nodes", *ACCOUNT_TABLES, *SEARCH_TABLES},
}
NEW_COLUMNS = {
    "0001": {
        ("keysets", "recovery"),
        ("name_entries", "text_sha256"),
        ("head", "map"),
        ("names", "deprecated"),
        *ACCOUNT_COLUMNS,
    },
    "0002": {("head", "map"), ("names", "deprecated"), *ACCOUNT_COLUMNS},
}
"""The parts of the newest tables that each revision lacks."""
LATER = START + timedelta(hours=74)


@dataclass(frozen=True)
class Filled:
    """A registry filled by this version, on SQLite."""

    data: Path
    acme: Publisher
    yank: Candidate
    rows: dict[str, list[tuple[Any, ...]]]


class Filling:
    """Appends statements to a registry, at a time that the test sets."""

    def __init__(self, data: Path, engine: sa.Engine) -> None:
        self.now = START
        self.engine = engine
        self.owner = registry_keys.in_folder(data / "keys", "root")[0].signer
        self.sequencer = sequencer_of(data, engine, lambda: self.now)

    def add(self, statement: Logged, *signers: Signer) -> Candidate:
        candidate = Candidate(notes.sign(statement.text(), list(signers)), statement)
        self.append(candidate)
        return candidate

    def append(self, candidate: Candidate) -> int:
        (outcome,) = self.sequencer.append([[candidate]])
        assert isinstance(outcome, Receipt), outcome
        return outcome.results[0].position

    def replace_key(
        self, old: Publisher, recovery: timedelta | None = None, revoked_from: int | None = None
    ) -> Publisher:
        """A second keyset with a new key: signed by the old key, or a recovery signed by the registry's owner."""
        new = Publisher(old.namespace, keyset=2)
        with database.reader(self.engine) as connection:
            first = Ledger(connection).chain(old.namespace).links[0].sha256
        revoked = () if revoked_from is None else (Revocation(old.key.public.raw, revoked_from),)
        when = None if recovery is None else self.now + recovery
        keyset = Keyset(ORIGIN, old.namespace, 2, first, self.now, 1, (new.key.public.raw,), revoked, when)
        self.add(keyset, new.signer, old.signer if recovery is None else self.owner)
        return new


def sequencer_of(data: Path, engine: sa.Engine, clock: Any) -> Sequencer:
    settings = Settings(data=data)
    log_keys = registry_keys.in_folder(settings.keys, "log")
    return Sequencer(engine, Folder(settings.public), Folder(settings.uploads), log_keys, settings, clock=clock)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    data = tmp_path_factory.mktemp("registry") / "data"
    found(data, ORIGIN, {}, None, 365)
    engine = opening.connect(Settings(data=data).database_url)
    filling = Filling(data, engine)
    acme, stolen, lost, waiting = (Publisher(name) for name in ("acme", "stolen", "lost", "waiting"))
    positions = {}
    for publisher in (acme, stolen, lost, waiting):
        filling.append(publisher.claim_candidate())
        for version in ("1.0.0", "1.1.0"):
            Folder(data / "uploads").put(BLOB_SHA256, BLOB)
            candidate = publisher.candidate("a/one", version, BLOB_SHA256)
            positions[publisher.namespace, version] = filling.append(candidate)
    one = Identity("directive", "acme/a/one")
    yank = filling.add(Yank(ORIGIN, one, "1.1.0", True, 1, START, "Wrong"), acme.signer)
    filling.add(Yank(ORIGIN, one, "1.0.0", True, 1, START, "Wrong"), acme.signer)
    filling.add(Yank(ORIGIN, one, "1.0.0", False, 1, START, "It was right"), acme.signer)
    filling.add(Deprecation(ORIGIN, one, True, None, 1, START, "Old"), acme.signer)
    filling.add(Advisory(ORIGIN, one, "RYE-1", "<2.0.0", "high", 1, START, "Do not use"), acme.signer)
    filling.replace_key(stolen, revoked_from=positions["stolen", "1.0.0"] + 1)  # keeps 1.0.0, withdraws 1.1.0
    filling.replace_key(lost, recovery=timedelta(hours=72), revoked_from=0)  # withdraws all, in 72 hours
    filling.now = LATER
    filling.replace_key(waiting, recovery=timedelta(hours=72), revoked_from=0)
    with database.writer(engine) as connection:
        tokens.create(connection, "ci", ["acme"], write_time(START))
    with database.reader(engine) as connection:
        yield Filled(data, acme, yank, rows_of(connection))
    engine.dispose()


def rows_of(connection: sa.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Every table's rows in key order, without arbitrary numbers."""
    found = {}
    for table in schema.metadata.sorted_tables:
        wanted = [column for column in table.columns if (table.name, column.name) not in ARBITRARY]
        rows = connection.execute(sa.select(*wanted)).all()
        found[table.name] = sorted(
            (tuple(bytes(cell) if isinstance(cell, memoryview) else cell for cell in row) for row in rows), key=repr
        )
    return found


def make(connection: sa.Connection, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(registry_server.__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


@contextmanager
def at_revision(url: str, revision: str = "0001") -> Iterator[sa.Connection]:
    """A transaction on a database with the tables of an old revision and nothing in them."""
    # `opening.connect` would bring the database up to date.
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        make(connection, revision)
        yield connection
    engine.dispose()


def copy_tables(source: sa.Connection, target: sa.Connection, revision: str) -> None:
    """Copy the rows into the tables of an old revision."""
    for table in schema.metadata.sorted_tables:
        if table.name in NEW_TABLES[revision] or table.name == "documents":
            continue
        columns = [column for column in table.columns if (table.name, column.name) not in NEW_COLUMNS[revision]]
        rows = [dict(row._mapping) for row in source.execute(sa.select(*columns))]
        in_old = [sa.column(column.name, column.type) for column in columns]
        if table.name == "names":
            in_old.append(sa.column("shard"))
            rows = [{**row, "shard": row["index_sha256"][:2]} for row in rows]
        if rows:
            target.execute(sa.table(table.name, *in_old).insert(), rows)
    shards = sa.table("shards", sa.column("shard"), sa.column("sha256"))
    target.execute(shards.insert(), [{"shard": "aa", "sha256": "a" * 64}])


def fill_as_0001(filled: Filled, url: str) -> None:
    """Copy the rows into the tables of revision 0001, as its sequencer would have written them."""
    source = sa.create_engine(Settings(data=filled.data).database_url)
    with at_revision(url) as target, source.connect() as connection:
        copy_tables(connection, target, "0001")
        yanked = {}
        for leaf in connection.scalars(sa.select(schema.log_entries.c.leaf).order_by(schema.log_entries.c.position)):
            statement = parse(notes.parse(leaf).text)
            if isinstance(statement, Yank):
                yanked[index_name(statement.identity), statement.version] = statement.yanked
        offered: dict[str, Any] = {}
        for row in connection.execute(sa.select(schema.releases).order_by(schema.releases.c.version)):
            is_yanked = yanked.get((row.name, row.version), False)
            where = sa.and_(schema.releases.c.name == row.name, schema.releases.c.version == row.version)
            target.execute(schema.releases.update().where(where).values(yanked=is_yanked))
            if not is_yanked:
                offered[row.name] = row
        for name, row in offered.items():
            kind, _, identifier = name.partition(":")
            offer(target, kind, identifier, row)
    source.dispose()


def offer(target: sa.Connection, kind: str, identifier: str, row: sa.Row[Any]) -> None:
    """Put a document into the table of revision 0001."""
    columns = ("name", "kind", "namespace", "id", "version", "description", "keywords")
    old = sa.table("documents", *(sa.column(column) for column in columns))
    name, namespace = f"{kind}:{identifier}", identifier.partition("/")[0]
    values = (name, kind, namespace, identifier, row.version, row.description, row.keywords)
    target.execute(old.insert().values(dict(zip(columns, values, strict=True))))


@pytest.fixture(params=rest_thorough(1, ["sqlite", "postgresql"]))
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'old.db'}"
    address: str = request.getfixturevalue("empty")
    return address


@pytest.fixture
def data(filled: Filled, tmp_path: Path) -> Path:
    """A copy of the registry's folder; its own database is not used."""
    return Path(shutil.copytree(filled.data, tmp_path / "data"))


def revision_of(url: str) -> str:
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        revision = str(connection.scalar(sa.text("SELECT version_num FROM alembic_version")))
    engine.dispose()
    return revision


def test_the_registry_has_what_an_upgrade_can_get_wrong(filled: Filled) -> None:
    withdrawn = {(row[0], row[1]) for row in filled.rows["releases"] if row[-1]}
    assert withdrawn == {
        ("directive:acme/a/one", "1.1.0"),
        ("directive:stolen/a/one", "1.1.0"),
        ("directive:lost/a/one", "1.0.0"),
        ("directive:lost/a/one", "1.1.0"),
    }
    assert sum(row[-1] is not None for row in filled.rows["keysets"]) == 2
    assert len(filled.rows["documents"]) == 3


def test_every_table_is_as_if_the_new_version_had_filled_it(filled: Filled, data: Path, url: str) -> None:
    fill_as_0001(filled, url)
    engine = opening.connect(url)
    with database.reader(engine) as connection:
        found = rows_of(connection)
        problems = audit.verify(Ledger(connection), Folder(data / "public"))
        hits = {(hit.id, hit.version, hit.deprecated) for hit in find(connection, "one").hits}
    engine.dispose()
    assert found.pop("leader") == []  # nothing has been written yet
    assert found == {table: rows for table, rows in filled.rows.items() if table != "leader"}
    assert problems == []
    assert hits == {
        ("acme/a/one", "1.0.0", True),
        ("stolen/a/one", "1.0.0", False),
        ("waiting/a/one", "1.1.0", False),
    }


def test_a_check_lists_the_steps_and_takes_none(filled: Filled, tmp_path: Path) -> None:
    data = Path(shutil.copytree(filled.data, tmp_path / "data"))
    (data / "registry.db").unlink()
    fill_as_0001(filled, Settings(data=data).database_url)
    for _ in range(2):
        checked = run("migrate", "--check", "--data", str(data), "--json", check=False)
        plan = json.loads(checked.stdout)
        assert (checked.returncode, plan["current"], plan["newest"]) == (1, "0001", schema.REVISION)
        assert [step["revision"] for step in plan["steps"]] == [
            f"{number:04}" for number in range(2, int(schema.REVISION) + 1)
        ]
        assert all(step["what"] for step in plan["steps"])
        assert revision_of(Settings(data=data).database_url) == "0001"
    assert run("migrate", "--data", str(data)).stdout == f"Upgraded the database from 0001 to {schema.REVISION}.\n"
    assert run("migrate", "--check", "--data", str(data)).returncode == 0
    engine = sa.create_engine(Settings(data=data).database_url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    refused = run("migrate", "--check", "--data", str(data), "--json", check=False)
    assert (refused.returncode, json.loads(refused.stdout)["error"]["code"]) == (1, "database-too-new")


@pytest.mark.thorough
def test_the_log_goes_on_and_what_it_has_already_is_a_duplicate(filled: Filled, data: Path, url: str) -> None:
    fill_as_0001(filled, url)
    engine = opening.connect(url)
    moment = [LATER]
    sequencer = sequencer_of(data, engine, lambda: moment[0])
    sequencer.recover()
    again = sequencer.append([[filled.yank]])[0]
    assert isinstance(again, Receipt)
    assert again.results[0].duplicate
    sequencer.uploads.put(BLOB_SHA256, BLOB)
    release = filled.acme.release("a/two", BLOB, time=LATER)
    note = notes.sign(release.text(), [filled.acme.signer])
    new = sequencer.append([[Candidate(note, release, filled.acme.key.public.raw)]])[0]
    assert isinstance(new, Receipt)
    assert not new.results[0].duplicate
    moment[0] = LATER + timedelta(hours=73)  # the recovery that was pending before the upgrade takes effect afterwards
    assert sequencer.heartbeat()
    with database.reader(engine) as connection:
        assert audit.verify(Ledger(connection), sequencer.public) == []
        assert "waiting/a/one" not in {hit.id for hit in find(connection, "one").hits}
    engine.dispose()


def test_a_server_of_the_old_version_cannot_add_statements_that_a_replay_would_log_again(
    filled: Filled, url: str
) -> None:
    fill_as_0001(filled, url)
    engine = opening.connect(url)
    with pytest.raises(sa.exc.IntegrityError), engine.begin() as connection:
        connection.execute(sa.text("INSERT INTO name_entries (name, position) VALUES ('namespace:acme', 0)"))
    engine.dispose()


def fill_as_0002(filled: Filled, url: str, data: Path) -> bytes:
    """Rewrite the registry as a server of protocol 1 wrote it: snapshots and head list shards. Return the head."""
    (log_key,) = registry_keys.in_folder(data / "keys", "log")
    source = sa.create_engine(Settings(data=filled.data).database_url)
    with at_revision(url, "0002") as target, source.connect() as connection:
        copy_tables(connection, target, "0002")
        for row in connection.execute(sa.select(schema.documents)):
            offer(target, row.kind, row.id, row)
        edge, former = Edge(0, {}), ""
        entries = schema.log_entries
        for row in connection.execute(sa.select(entries).order_by(entries.c.position)).all():
            leaf = bytes(row.leaf)
            statement = parse(notes.parse(leaf).text)
            if isinstance(statement, Snapshot):
                old = FormerSnapshot(statement.origin, statement.time, statement.root, bytes(32))
                former = notes.sign(old.text(), [log_key.signer]).encode()
                leaf = former.encode()
                change = entries.update().where(entries.c.position == row.position)
                target.execute(change.values(leaf=leaf, hash=leaf_hash(leaf)))
            edge.append(leaf_hash(leaf))
        checkpoint = notes.sign(Checkpoint(ORIGIN, edge.size, edge.range.root()).text(), [log_key.signer]).encode()
        proof = [wire.encode_hash(node) for node in edge.last_proof]
        head = json.dumps({"checkpoint": checkpoint, "snapshot": former, "proof": proof, "shards": {"aa": "a" * 64}})
        table = sa.table("head", sa.column("checkpoint", sa.LargeBinary), sa.column("document", sa.LargeBinary))
        target.execute(table.update().values(checkpoint=checkpoint.encode(), document=head.encode()))
        target.execute(schema.tree_edge.delete())
        rows = [{"level": level, "hashes": hashes} for level, hashes in edge.partial().items()]
        target.execute(schema.tree_edge.insert(), rows)
    source.dispose()
    shutil.rmtree(data / "public" / "map")
    (data / "public" / "head").write_bytes(head.encode())
    (data / "public" / "checkpoint").write_text(checkpoint)
    return head.encode()


@pytest.mark.thorough
def test_a_registry_of_protocol_1_goes_on_under_a_head_of_protocol_2(filled: Filled, data: Path, url: str) -> None:
    fill_as_0002(filled, url, data)
    engine = opening.connect(url)
    with database.reader(engine) as connection:
        found = rows_of(connection)
        before = Ledger(connection).size
        problems = audit.verify(Ledger(connection), Folder(data / "public"))
    for table in ("names", "map_nodes", "releases", "keysets", "name_entries"):
        assert found[table] == filled.rows[table]
    assert any("protocol 1" in problem for problem in problems)

    sequencer = sequencer_of(data, engine, lambda: LATER)
    sequencer.recover()
    audit.repair(engine, sequencer.public)  # tiles of the log with the old snapshots
    with database.reader(engine) as connection:
        ledger = Ledger(connection)
        assert ledger.size == before + 1
        assert audit.verify(ledger, sequencer.public) == []
        leaves = ledger.leaves(0, ledger.size)
        fingerprint = ledger.roots()[0].sha256()
    client = RegistryClient(
        "https://registry.example",
        FileTransport(data / "public"),
        StateStore(data / "state"),
        Cache(data / "cache"),
        now=lambda: LATER,
    )
    client.refresh(fingerprint)
    one = Identity("directive", "acme/a/one")
    assert [record.version for record in client.releases([one])[one]] == ["1.0.0", "1.1.0"]
    result = auditing.audit(leaves, fingerprint)
    assert (result.findings, result.map) == ((), client.head.map)
    sequencer.recover()
    with database.reader(engine) as connection:
        assert Ledger(connection).size == before + 1
    engine.dispose()


def test_a_root_that_is_published_before_the_first_start_brings_the_whole_name_map(
    filled: Filled, data: Path, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'old.db'}"
    fill_as_0002(filled, url, data)
    engine = opening.connect(url)
    sequencer = sequencer_of(data, engine, lambda: LATER)
    with database.reader(engine) as connection:
        last = Ledger(connection).roots()[-1]
    root = replace(last, number=2, previous=last.sha256(), time=LATER, expires=LATER + timedelta(days=9))
    (owner,) = registry_keys.in_folder(data / "keys", "root")
    (outcome,) = sequencer.append([[Candidate(notes.sign(root.text(), [owner.signer]), root)]])
    assert isinstance(outcome, Receipt)
    with database.reader(engine) as connection:
        nodes = Ledger(connection).map_nodes()
    assert {path.name: path.read_bytes() for path in (data / "public" / "map").iterdir()} == nodes
    engine.dispose()


def test_a_server_of_protocol_1_cannot_write_a_head_any_more(filled: Filled, url: str) -> None:
    fill_as_0001(filled, url)
    engine = opening.connect(url)
    old = sa.text("INSERT INTO head (id, size, time, checkpoint, document) VALUES (2, 1, '', :bytes, :bytes)")
    with pytest.raises(sa.exc.IntegrityError), engine.begin() as connection:
        connection.execute(old, {"bytes": b""})
    engine.dispose()


def test_an_upgrade_that_fails_leaves_the_old_database_and_can_be_repeated(
    filled: Filled, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_as_0001(filled, url)

    def fail(*_: object) -> None:
        raise OSError("no more room")

    with monkeypatch.context() as patch:
        patch.setattr(search_offers, "refresh_namespace", fail)
        with pytest.raises(OSError, match="no more room"):
            opening.connect(url)
    assert revision_of(url) == "0001"
    engine = sa.create_engine(url)
    assert not NEW_TABLES["0001"] & set(sa.inspect(engine).get_table_names())
    assert "text_sha256" not in {column["name"] for column in sa.inspect(engine).get_columns("name_entries")}
    engine.dispose()
    opening.connect(url).dispose()
    assert revision_of(url) == schema.REVISION


def test_a_server_that_runs_while_a_newer_version_upgrades_appends_nothing_more(tmp_path: Path) -> None:
    """What it would write lacks what the newer version derives, such as the search index."""
    data = tmp_path / "data"
    found(data, ORIGIN, {}, None, 365)
    engine = opening.connect(Settings(data=data).database_url)
    filling = Filling(data, engine)
    filling.append(Publisher("acme").claim_candidate())
    before = (data / "public/head").read_bytes()
    revision = sa.text("UPDATE alembic_version SET version_num = :one")
    with engine.begin() as connection:
        connection.execute(revision, {"one": "9999"})
    with pytest.raises(RyeError) as refused:
        filling.append(Publisher("beta").claim_candidate())
    assert refused.value.code == "database-too-new"
    assert is_trouble(refused.value)  # 503, and not the publisher's fault
    assert (data / "public/head").read_bytes() == before
    with engine.begin() as connection:  # the control
        connection.execute(revision, {"one": schema.REVISION})
    filling.append(Publisher("beta").claim_candidate())
    engine.dispose()


@pytest.mark.parametrize("revision", ["0011", "0014"])
def test_an_upgrade_fills_what_search_finds_as_this_version_does(
    url: str, monkeypatch: pytest.MonkeyPatch, revision: str
) -> None:
    """Registries of revision 0013 on PostgreSQL kept their old index, and `verify` called it wrong for every item."""
    engine = opening.connect(url)
    document = search.SearchDocument("directive", "acme/a/one", "1.0.0", "Work", "words of a text", False)
    with database.writer(engine) as connection:
        connection.execute(schema.registry.insert().values(key="origin", value=ORIGIN))
        search.replace(connection, ["directive:acme/a/one"], [document])
    with database.writer(engine) as connection:
        connection.execute(schema.documents.update().values(terms=""))
        connection.execute(sa.text("UPDATE alembic_version SET version_num = :one"), {"one": revision})
    with database.reader(engine) as connection:
        assert search.index_problems(connection) != []
    monkeypatch.setattr(command, "upgrade", lambda *_: None)  # the tables are today's already
    with database.writer(engine) as connection:
        upgrading.upgrade(connection)
    with database.reader(engine) as connection:
        assert search.index_problems(connection) == []
    engine.dispose()


def test_servers_that_start_at_the_same_moment_upgrade_once(filled: Filled, url: str) -> None:
    fill_as_0001(filled, url)
    assert failures_of_two(lambda: opening.connect(url).dispose()) == []
    assert revision_of(url) == schema.REVISION


def failures_of_two(start: Callable[[], object]) -> list[BaseException]:
    """Run ``start`` in two threads at the same moment; return what they raised."""
    failed: list[BaseException] = []
    gate = threading.Barrier(2)

    def run() -> None:
        try:
            gate.wait(10)
            start()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return failed


@pytest.mark.thorough
def test_servers_that_switch_a_new_file_to_its_write_ahead_log_at_the_same_moment_both_start(tmp_path: Path) -> None:
    def start(url: str) -> None:
        engine = database.engine_of(url)
        with database.reader(engine):
            pass
        engine.dispose()

    for number in range(100):  # without the waiting, about one in ten failed
        path = tmp_path / f"{number}.db"
        with closing(sqlite3.connect(path)) as file, file:
            file.execute("CREATE TABLE of_a_restored_backup (a)")
        assert failures_of_two(partial(start, f"sqlite:///{path}")) == []


def test_a_file_that_stays_locked_cannot_be_switched_to_a_write_ahead_log(tmp_path: Path) -> None:
    path = tmp_path / "locked.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE of_a_restored_backup (a)")
        other.execute("BEGIN")
        other.execute("SELECT * FROM of_a_restored_backup").fetchall()
        engine = database.engine_of(f"sqlite:///{path}", wait_seconds=0.1)
        with pytest.raises(RyeError, match="locked for too long") as refused, database.reader(engine):
            pass
        assert refused.value.code == "database-busy"
        other.execute("ROLLBACK")
        with database.reader(engine):
            pass
        engine.dispose()


def test_an_old_database_without_a_registry_is_upgraded_too(url: str) -> None:
    with at_revision(url):
        pass
    opening.connect(url).dispose()
    assert revision_of(url) == schema.REVISION


def test_a_server_of_revision_0010_cannot_write_what_search_finds(url: str) -> None:
    """While servers are replaced one by one, an old one must fail to publish rather than leave an item that is not found."""
    engine = opening.connect(url)
    columns = "number, name, kind, namespace, id, version, description, keywords, deprecated"
    values = "1, 'tool:acme/x', 'tool', 'acme', 'acme/x', '1.0.0', '', '', false"
    for more, value in ((", segment", ", '-x-'"), ("", "")):
        with engine.connect() as connection, pytest.raises(sa.exc.DBAPIError, match=r"segment|terms"):
            connection.exec_driver_sql(f"INSERT INTO documents ({columns}{more}) VALUES ({values}{value})")
    engine.dispose()


def test_names_sort_by_bytes_on_postgresql_and_their_indexes_serve_the_ranges(empty: str) -> None:
    """One column that sorts otherwise would have no order in common with those that it is joined with."""
    engine = opening.connect(empty)
    whole = {
        (table.name, column.name)
        for table in schema.metadata.tables.values()
        for column in table.c
        if isinstance(column.type, sa.String) and column.type.length == 1100
    }
    with database.reader(engine) as connection:
        kept = connection.exec_driver_sql(
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE collation_name = 'C' AND table_schema = 'public'"
        )
        by_bytes = {(table, column) for table, column in kept.all()}
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        plans = {
            table: "\n".join(
                connection.exec_driver_sql(
                    f"EXPLAIN SELECT name FROM {table} WHERE name > 'tool:acme/' AND name < 'tool:acme0' ORDER BY name"
                ).scalars()
            )
            for table in ("names", "documents", "name_entries", "releases")
        }
    engine.dispose()
    assert whole - by_bytes == {("names", "fold"), ("stages", "name")}, "compared with no name of another column"
    for plan in plans.values():
        assert "Index" in plan
        assert "Index Cond: " in plan
        assert "Sort" not in plan


@pytest.mark.thorough
def test_more_statements_than_are_read_at_once_all_get_the_hash_of_their_text(url: str) -> None:
    acme, count = Publisher("acme"), 2345
    note = acme.claim()
    with at_revision(url) as connection:
        names = sa.table("names", *map(sa.column, ("name", "shard", "fold", "index_sha256", "index_size")))
        leaves = [{"at": position, "leaf": note.encode()} for position in range(count)]
        connection.execute(sa.text("INSERT INTO log_entries (position, leaf, hash) VALUES (:at, :leaf, :leaf)"), leaves)
        name = {"name": "namespace:acme", "shard": "00", "fold": "namespace:acme", "index_sha256": "", "index_size": 0}
        connection.execute(names.insert(), [name])
        connection.execute(
            sa.text("INSERT INTO name_entries (name, position) VALUES ('namespace:acme', :at)"),
            [{"at": leaf["at"]} for leaf in leaves],
        )
    engine = opening.connect(url)
    with database.reader(engine) as connection:
        hashes = [bytes(value) for value in connection.scalars(sa.select(schema.name_entries.c.text_sha256))]
    engine.dispose()
    assert hashes == [hashlib.sha256(notes.parse(note).text.encode()).digest()] * count
