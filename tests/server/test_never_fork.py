"""An older database next to a newer store never writes again, however it was restored (docs/how-to/registry-upkeep.md)."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from registry_server.embedded import start_embedded, stop_embedded
from registry_server.migrations import opening
from registry_server.sequencer.ledger import Ledger
from registry_server.storage import database
from registry_server.storage.objects import Folder
from registry_server.upkeep import audit
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.client import RegistryClient
from rye.registry.protocol import notes, wire
from rye.registry.protocol.statements import Checkpoint
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from tests.scenes.publisher import Client, Publisher, error_code
from tests.scenes.registry_process import init, run, token

pytestmark = pytest.mark.processes


@contextmanager
def serving(data: Path) -> Iterator[Client]:
    process, url = start_embedded(data)
    try:
        yield Client(url, token(data))
    finally:
        stop_embedded(process)


def copy_database(source: Path, target: Path) -> None:
    """Copy as a backup tool does: consistently, even if there is a journal next to the file."""
    for suffix in ("-wal", "-shm"):
        target.with_name(target.name + suffix).unlink(missing_ok=True)
    target.unlink(missing_ok=True)
    with sqlite3.connect(source) as old, sqlite3.connect(target) as new:
        old.backup(new)
    old.close()
    new.close()


def shown_size(data: Path) -> int:
    return Checkpoint.parse(notes.parse((data / "public" / "checkpoint").read_bytes()).text).size


def follow(data: Path, fingerprint: str, memory: Path) -> int:
    """Read the store as a client with older trusted state; a fork or a rollback raises."""
    store, cache = StateStore(memory / "state"), Cache(memory / "cache")
    with RegistryClient.open((data / "public").as_uri(), accept_root=fingerprint, store=store, cache=cache) as client:
        identity = Identity("directive", "acme/a/one")
        client.prove(client.releases([identity])[identity])
        return client.head.checkpoint.size


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A registry whose database is one publish older than its store. Clients' state is in ``memory``."""
    folder = tmp_path_factory.mktemp("original")
    data = folder / "data"
    fingerprint = init(data)
    acme = Publisher("acme")
    with serving(data) as client:
        client.statements(acme.claim()).raise_for_status()
        client.publish(acme, "a/one").raise_for_status()
        copy_database(data / "registry.db", folder / "old.db")
        client.publish(acme, "a/two").raise_for_status()
    follow(data, fingerprint, folder / "memory")
    copy_database(folder / "old.db", data / "registry.db")
    return folder, fingerprint


@pytest.fixture
def restored(original: tuple[Path, str], tmp_path: Path) -> tuple[Path, str]:
    """A copy of the registry for each test."""
    folder, fingerprint = original
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return tmp_path / "data", fingerprint


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_serve_on_an_older_database_exits_1_and_writes_nothing(restored: tuple[Path, str], tmp_path: Path) -> None:
    data, fingerprint = restored
    before = everything(data / "public")
    done = run("serve", "--data", str(data), "--port", "0", "--json", check=False)
    assert done.returncode == 1
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "database-behind"
    assert "rye-registry restore" in error["hint"]
    assert "Traceback" not in done.stderr
    assert everything(data / "public") == before
    assert follow(data, fingerprint, tmp_path / "memory") == shown_size(data)


@pytest.mark.parametrize("gone", ["head", "checkpoint"])
def test_head_or_checkpoint_alone_is_enough_to_know(restored: tuple[Path, str], gone: str) -> None:
    data, _ = restored
    (data / "public" / gone).unlink()
    done = run("serve", "--data", str(data), "--port", "0", "--json", check=False)
    assert json.loads(done.stdout)["error"]["code"] == "database-behind"
    assert not (data / "public" / gone).exists()


@pytest.mark.parametrize("command", [["root", "renew"], ["rebuild"], ["rebuild", "--prune"]])
def test_no_command_writes_either(restored: tuple[Path, str], command: list[str]) -> None:
    data, _ = restored
    before = everything(data / "public")
    done = run(*command, "--data", str(data), "--json", check=False)
    assert json.loads(done.stdout)["error"]["code"] == "database-behind"
    assert everything(data / "public") == before


def test_verify_does_not_call_an_older_database_well(restored: tuple[Path, str]) -> None:
    data, _ = restored
    done = run("verify", "--data", str(data), "--json", check=False)
    document = json.loads(done.stdout)
    assert (done.returncode, document["ok"]) == (1, False)
    assert "older database" in document["problems"][0]


def test_another_history_of_the_same_size_is_found(tmp_path: Path) -> None:
    """Two copies diverged; the database of one is placed next to the store of the other."""
    one, other = tmp_path / "one", tmp_path / "other"
    fingerprint = init(one)
    acme = Publisher("acme")
    with serving(one) as client:
        client.statements(acme.claim()).raise_for_status()
    shutil.copytree(one, other)
    for data, name in ((one, "a/one"), (other, "a/other")):
        with serving(data) as client:
            client.publish(acme, name).raise_for_status()
    follow(one, fingerprint, tmp_path / "memory")
    assert shown_size(one) == shown_size(other)
    copy_database(other / "registry.db", one / "registry.db")
    with pytest.raises(RyeError, match="differ from those in the database"):
        start_embedded(one)
    assert follow(one, fingerprint, tmp_path / "memory") == shown_size(one)


def test_a_running_server_answers_503_until_the_database_is_back(tmp_path: Path) -> None:
    data = tmp_path / "data"
    fingerprint = init(data)
    acme = Publisher("acme")
    with serving(data) as client:
        client.statements(acme.claim()).raise_for_status()
        client.publish(acme, "a/one").raise_for_status()
        copy_database(data / "registry.db", tmp_path / "old.db")
        client.publish(acme, "a/two").raise_for_status()
        copy_database(data / "registry.db", tmp_path / "newest.db")
        follow(data, fingerprint, tmp_path / "memory")
        before = everything(data / "public")
        copy_database(tmp_path / "old.db", data / "registry.db")
        refused = client.publish(acme, "a/three")
        assert (refused.status_code, error_code(refused)) == (503, "database-behind")
        assert refused.headers["Retry-After"]
        assert error_code(client.get("/readyz")) == "database-behind"
        now = everything(data / "public")
        assert {path: now[path] for path in before} == before
        assert client.get("/head").status_code == 200
        copy_database(tmp_path / "newest.db", data / "registry.db")
        assert client.publish(acme, "a/three").status_code == 200
        assert client.get("/readyz").status_code == 200
    assert follow(data, fingerprint, tmp_path / "memory") == shown_size(data)
    assert run("verify", "--data", str(data)).returncode == 0


def test_a_store_of_another_registry_is_never_written_to(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    init(one)
    init(other, "other.example.org")
    shutil.rmtree(one / "public")
    shutil.copytree(other / "public", one / "public")
    before = everything(one / "public")
    with pytest.raises(RyeError, match="The store shows the registry"):
        start_embedded(one)
    assert everything(one / "public") == before


class TestLaterHeads:
    """Verify excuses only a head that was published after it read the database."""

    def _published(self, data: Path, acme: Publisher, name: str) -> None:
        with serving(data) as client:
            client.publish(acme, name).raise_for_status()

    @pytest.fixture
    def prepared(self, tmp_path: Path) -> tuple[Path, Publisher]:
        data = tmp_path / "data"
        init(data)
        acme = Publisher("acme")
        with serving(data) as client:
            client.statements(acme.claim()).raise_for_status()
        return data, acme

    def test_one_that_appeared_meanwhile_is_excused(self, prepared: tuple[Path, Publisher]) -> None:
        data, acme = prepared
        public = Folder(data / "public")
        engine = opening.connect(f"sqlite:///{data / 'registry.db'}")
        seen = audit.look(public)
        with database.reader(engine) as connection:
            ledger = Ledger(connection)
            self._published(data, acme, "a/one")
            assert audit.verify(ledger, public, seen) == []
            assert len(audit.verify(ledger, public, seen, lambda _shown: False)) == 2
        engine.dispose()

    def test_one_that_was_there_before_is_not(self, prepared: tuple[Path, Publisher]) -> None:
        data, acme = prepared
        public = Folder(data / "public")
        engine = opening.connect(f"sqlite:///{data / 'registry.db'}")
        with database.reader(engine) as connection:
            ledger = Ledger(connection)
            self._published(data, acme, "a/one")
            (problem,) = audit.verify(ledger, public, audit.look(public))
            assert "older database" in problem
        engine.dispose()


def test_a_database_file_that_is_replaced_or_removed_is_noticed(tmp_path: Path) -> None:
    """Data written to a deleted file would be lost when the process ends."""
    data = tmp_path / "data"
    init(data)
    with serving(data) as client:
        acme = Publisher("acme")
        client.statements(acme.claim()).raise_for_status()
        for suffix in ("", "-wal", "-shm"):
            path = data / f"registry.db{suffix}"
            if path.exists():
                path.rename(data / f"away.db{suffix}")
        gone = client.get("/api/v1/whoami")
        assert (gone.status_code, error_code(gone)) == (503, "database-unavailable")
        assert not (data / "registry.db").exists()
        for suffix in ("-wal", "-shm", ""):
            path = data / f"away.db{suffix}"
            if path.exists():
                path.rename(data / f"registry.db{suffix}")
        assert client.publish(acme, "a/one").status_code == 200


def test_a_locked_database_answers_503_with_retry_after(tmp_path: Path) -> None:
    data = tmp_path / "data"
    init(data)
    with (data / "registry.toml").open("a") as settings:
        settings.write("database_wait_seconds = 1\n")
    with serving(data) as client:
        acme = Publisher("acme")
        client.statements(acme.claim()).raise_for_status()
        with sqlite3.connect(data / "registry.db", isolation_level=None) as holder:
            holder.execute("BEGIN IMMEDIATE")
            locked = client.publish(acme, "a/one")
            assert (locked.status_code, error_code(locked)) == (503, "database-busy")
            assert int(locked.headers["Retry-After"]) >= 1
            for reading in (["token", "list"], ["root", "show"], ["export", str(tmp_path / "copy")], ["verify"]):
                assert run(*reading, "--data", str(data)).returncode == 0
            assert run("rebuild", "--prune", "--data", str(data)).returncode == 0
            done: subprocess.CompletedProcess[str] = run(
                "token", "create", "ci", "--data", str(data), "--json", check=False
            )
            assert json.loads(done.stdout)["error"]["code"] == "database-busy"
            assert "Traceback" not in done.stderr
            holder.execute("ROLLBACK")
        holder.close()
        assert client.publish(acme, "a/one").status_code == 200
    assert wire.decode_head((data / "public" / "head").read_bytes())
