"""Several servers on one PostgreSQL: a leader that is stopped, killed or resumed never damages the log
(registry_server/sequencer/leadership.py).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from registry_server.embedded import start_embedded, stop_embedded
from registry_server.settings import Settings
from registry_server.storage.schema import log_entries
from rye.items.identity import Identity
from rye.registry.client import RegistryClient
from rye.registry.protocol import notes, statements, wire
from rye.registry.protocol.statements import Release
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from tests.scenes.publisher import Client, Publisher, error_code
from tests.scenes.registry_process import ORIGIN, run, token

pytestmark = pytest.mark.processes

_HELD = sa.text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = "
                "(SELECT oid FROM pg_database WHERE datname = current_database())")  # fmt: skip
_EPOCH = sa.text("SELECT epoch FROM leader")


@dataclass
class Pair:
    """Two servers of one registry, and a publisher whose namespace is claimed."""

    data: Path
    fingerprint: str
    engine: sa.Engine
    processes: list[subprocess.Popen[bytes]]
    clients: list[Client]
    acme: Publisher = field(default_factory=lambda: Publisher("acme"))

    def follow(self, memory: Path, names: list[str]) -> None:
        """Check that a client with remembered state can read the store again, and that every name has its release."""
        store, cache = StateStore(memory / "state"), Cache(memory / "cache")
        address = (self.data / "public").as_uri()
        with RegistryClient.open(address, accept_root=self.fingerprint, store=store, cache=cache) as client:
            identities = [Identity("directive", f"acme/{name}") for name in names]
            found = client.releases(identities)
            assert [str(identity) for identity in identities if not found[identity]] == []
            for records in found.values():
                client.prove(records)


@contextmanager
def pair(empty: str, folder: Path, **settings: float) -> Iterator[Pair]:
    """Both servers have the same folders of files, as several servers need that share a folder instead of a bucket."""
    data, second = folder / "data", folder / "second"
    made = run("init", "--origin", ORIGIN, "--data", str(data), "--database", empty)
    with (data / "registry.toml").open("a") as file:
        file.writelines(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    shutil.copytree(data, second)
    for shared in ("public", "uploads", "staged"):
        (data / shared).mkdir(mode=0o700, exist_ok=True)
        shutil.rmtree(second / shared, ignore_errors=True)
        (second / shared).symlink_to(data / shared)
    engine = sa.create_engine(empty)
    started = [start_embedded(data), start_embedded(second)]
    secret = token(data)
    fingerprint = made.stdout.rsplit(" ", 1)[1].strip()
    found = Pair(data, fingerprint, engine, [p for p, _ in started], [Client(url, secret) for _, url in started])
    try:
        found.clients[0].statements(found.acme.claim()).raise_for_status()
        yield found
    finally:
        for process in found.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
            stop_embedded(process)
        engine.dispose()


@contextmanager
def busy(found: Pair, answered: list[str]) -> Iterator[None]:
    """Publishers that publish to the first server until the block ends."""
    stop = threading.Event()

    def work(label: int) -> None:
        for number in range(10_000):
            if stop.is_set():
                return
            name = f"load/w{label}_{number}"
            try:
                if found.clients[0].publish(found.acme, name).status_code == 200:
                    answered.append(name)
            except httpx.HTTPError:
                return

    threads = [threading.Thread(target=work, args=(label,)) for label in range(3)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def stop_while_it_writes(found: Pair, number: int) -> None:
    """Send the first server a signal while it holds the writer's lock. If SIGSTOP came too late, send SIGCONT and try
    again.
    """
    process = found.processes[0]
    deadline = time.monotonic() + 30
    with found.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        while time.monotonic() < deadline:
            if not connection.scalar(_HELD):
                continue
            os.kill(process.pid, number)
            if number == signal.SIGKILL:
                return
            time.sleep(0.2)
            if connection.scalar(_HELD):
                return
            os.kill(process.pid, signal.SIGCONT)
    pytest.fail("the server was never seen with the lock")


def test_a_stopped_leader_is_replaced_and_harms_nothing_when_it_goes_on(empty: str, tmp_path: Path) -> None:
    answered: list[str] = []
    with pair(empty, tmp_path, leader_seconds=3.0) as found:
        found.follow(tmp_path / "memory", [])
        with busy(found, answered):
            stop_while_it_writes(found, signal.SIGSTOP)
            with found.engine.connect() as connection:
                before = connection.scalar(_EPOCH)
            run("token", "create", "meanwhile", "--data", str(found.data))  # does not wait for anyone
            began = time.monotonic()
            while (status := found.clients[1].publish(found.acme, "other/first").status_code) == 503:
                assert time.monotonic() - began < 30  # a client that gets "not now" tries again
                time.sleep(0.2)
            assert status == 200
            found.follow(tmp_path / "memory", ["other/first"])
            with found.engine.connect() as connection:
                assert (connection.scalar(_EPOCH) or 0) > (before or 0)
            found.processes[0].send_signal(signal.SIGCONT)
            time.sleep(0.5)
            assert found.clients[1].publish(found.acme, "other/second").status_code == 200
        assert found.clients[0].publish(found.acme, "after/all").status_code == 200
        found.follow(tmp_path / "memory", [*answered, "other/first", "other/second", "after/all"])
        assert run("verify", "--data", str(found.data), check=False).returncode == 0


def test_a_killed_leader_is_replaced_at_once(empty: str, tmp_path: Path) -> None:
    answered: list[str] = []
    with pair(empty, tmp_path) as found:
        with busy(found, answered):
            stop_while_it_writes(found, signal.SIGKILL)
        began = time.monotonic()
        assert found.clients[1].publish(found.acme, "other/first").status_code == 200
        assert time.monotonic() - began < 20
        found.follow(tmp_path / "memory", [*answered, "other/first"])
        assert run("verify", "--data", str(found.data), check=False).returncode == 0


def kill_before_its_files_are_public(found: Pair) -> None:
    """End the first server after a batch's commit and before the files of its releases are public."""
    process = found.processes[0]
    deadline = time.monotonic() + 30
    with found.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        while time.monotonic() < deadline:
            if not connection.scalar(_HELD):
                continue
            os.kill(process.pid, signal.SIGSTOP)  # now and then while PostgreSQL commits
            time.sleep(0.1)
            if is_file_missing(found, connection):
                process.kill()
                return
            os.kill(process.pid, signal.SIGCONT)
    pytest.fail("the server was never seen with a release whose file is not public")


def is_file_missing(found: Pair, connection: sa.Connection) -> bool:
    """Whether a release among the newest entries of the log has a file that is not public."""
    newest = sa.select(log_entries.c.leaf).order_by(log_entries.c.position.desc()).limit(20)
    texts = [notes.parse(bytes(leaf)).text for leaf in connection.scalars(newest)]
    releases = [statements.parse(text) for text in texts if text.startswith(Release.TITLE)]
    return any(
        isinstance(release, Release) and not (found.data / "public" / wire.blob_path(release.file.sha256)).exists()
        for release in releases
    )


def test_who_replaces_a_killed_leader_makes_the_files_of_its_last_batch_public(empty: str, tmp_path: Path) -> None:
    answered: list[str] = []
    with pair(empty, tmp_path, writer_process=False) as found:
        with busy(found, answered):
            kill_before_its_files_are_public(found)
        assert found.clients[1].publish(found.acme, "other/first").status_code == 200
        found.follow(tmp_path / "memory", [*answered, "other/first"])
        assert run("verify", "--data", str(found.data), check=False).returncode == 0


@pytest.mark.thorough
def test_who_waits_for_a_stopped_leader_gets_503_with_retry_after(empty: str, tmp_path: Path) -> None:
    answered: list[str] = []
    with pair(empty, tmp_path, leader_seconds=12.0, database_wait_seconds=1.0) as found:
        with busy(found, answered):
            stop_while_it_writes(found, signal.SIGSTOP)
            began = time.monotonic()
            refused = found.clients[1].publish(found.acme, "other/first")
            assert time.monotonic() - began < 11  # less time than the leader's lease lasts
            assert (refused.status_code, error_code(refused)) == (503, "database-busy")
            assert int(refused.headers["Retry-After"]) >= 1
            assert error_code(found.clients[1].get("/readyz")) == "database-busy"
            found.processes[0].send_signal(signal.SIGCONT)
        assert found.clients[1].publish(found.acme, "other/first").status_code == 200
        assert found.clients[1].get("/readyz").status_code == 200
        found.follow(tmp_path / "memory", [*answered, "other/first"])


def test_by_default_a_leader_is_replaced_within_30_seconds_and_before_a_waiting_publisher_gives_up() -> None:
    settings = Settings(data=Path("unused"))
    assert settings.leader_seconds < settings.database_wait_seconds <= 30
    assert settings.database_wait_seconds < settings.answer_seconds


def test_a_database_that_is_gone_is_503_and_comes_back(empty: str, tmp_path: Path) -> None:
    with pair(empty, tmp_path) as found:
        name = sa.make_url(empty).database
        admin = sa.create_engine(sa.make_url(empty).set(database="postgres"), isolation_level="AUTOCOMMIT")
        with admin.connect() as connection:
            connection.execute(sa.text(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false"))
            connection.execute(
                sa.text(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
            )
            for client in found.clients:
                gone = client.statements(found.acme.claim())
                assert (gone.status_code, error_code(gone)) == (503, "database-unavailable")
            connection.execute(sa.text(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true"))
        admin.dispose()
        assert found.clients[0].publish(found.acme, "a/back").status_code == 200
