"""A slow or silent store, a frozen database, a writer that is stopped: each is called by its own name, none is taken for
another, and readiness notices when it is over.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from registry_server.accounts import registry_keys
from registry_server.migrations import opening
from registry_server.sequencer.sequencer import Receipt, Sequencer
from registry_server.settings import load
from registry_server.storage import database
from registry_server.storage.bucket import Bucket
from registry_server.storage.store_factory import public_objects, upload_objects
from registry_server.storage.store_watch import StoreWatch
from registry_server.upkeep.founding import found
from rye.errors import RyeError, UsageError
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, error_code
from tests.scenes.registry_process import ORIGIN
from tests.server.fake_bucket import FakeBucket, serving

pytestmark = pytest.mark.processes

QUIET = "heartbeat_check_seconds = 3600\n"


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[FakeBucket, str]]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    fake = FakeBucket()
    with serving(fake) as address:
        yield fake, address


def made(address: str, data: Path, url: str = "") -> Path:
    values = {"objects": "s3://rye/registry", "s3_endpoint": address, **({"database": url} if url else {})}
    found(data, ORIGIN, values, None, 365)
    return data


@contextmanager
def writer_on(data: Path, leader_seconds: float) -> Iterator[Sequencer]:
    settings = replace(load(data, {}, {}), leader_seconds=leader_seconds)
    engine = opening.connect(settings.database_url, idle_seconds=leader_seconds)
    try:
        log_keys = registry_keys.in_folder(settings.keys, "log")
        yield Sequencer(engine, public_objects(settings), upload_objects(settings), log_keys, settings)
    finally:
        engine.dispose()


@pytest.mark.parametrize("speaks", [True, False], ids=["with", "without"])
def test_a_writer_that_waits_for_its_store_is_not_taken_for_a_stopped_one(
    service: tuple[FakeBucket, str], empty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, speaks: bool
) -> None:
    """Each request takes longer than PostgreSQL lets a writer be silent."""
    fake, address = service
    data = made(address, tmp_path / "data", empty)
    acme = Publisher("acme")
    with writer_on(data, leader_seconds=2.0) as sequencer:
        if not speaks:
            monkeypatch.setattr(Bucket, "is_awaited", lambda *_: False)
        fake.delay = 4.0
        if speaks:
            (outcome,) = sequencer.append([[acme.claim_candidate()]])
            assert isinstance(outcome, Receipt)
            assert sequencer.trouble is None
        else:
            with pytest.raises(RyeError) as refused:
                sequencer.append([[acme.claim_candidate()]])
            assert refused.value.code == "writer-silent"
            assert "leader_seconds" in refused.value.message


def test_a_writer_that_hangs_elsewhere_loses_the_log_as_before(
    service: tuple[FakeBucket, str], empty: str, tmp_path: Path
) -> None:
    data = made(service[1], tmp_path / "data", empty)
    with writer_on(data, leader_seconds=0.5) as sequencer:
        sequencer._fault = lambda step: time.sleep(2) if step == "begun" else None
        with pytest.raises(RyeError) as refused:
            sequencer.append([[Publisher("acme").claim_candidate()]])
        assert refused.value.code == "writer-silent"
        assert sequencer.trouble is refused.value


def test_a_silent_store_is_called_silent_and_one_that_refuses_is_not(
    service: tuple[FakeBucket, str], tmp_path: Path
) -> None:
    fake, address = service
    data = made(address, tmp_path / "data")
    settings = replace(load(data, {}, {}), store_wait_seconds=1.0)
    store = public_objects(settings)
    fake.delay = 30
    with pytest.raises(RyeError) as refused:
        store.get("head")
    assert refused.value.code == "store-silent"
    fake.delay, fake.fault = 0, lambda _one: 403
    with pytest.raises(RyeError) as refused:
        store.get("head")
    assert refused.value.code in ("store-unavailable", "store-credentials")


def test_readiness_says_that_the_store_is_slow_and_later_that_it_was(
    service: tuple[FakeBucket, str], tmp_path: Path
) -> None:
    fake, address = service
    with LocalRegistry(made(address, tmp_path / "data"), QUIET + "store_wait_seconds = 2.0\n", make=False) as local:
        assert "warnings" not in local.get("/readyz").json()
        fake.delay = 1.2
        local.service.readiness._known = None
        slow = local.get("/readyz")
        assert (slow.status_code, error_code(slow)) == (503, "store-slow")
        fake.delay = 0
        local.service.readiness._known = None
        ready = local.get("/readyz")
        assert ready.status_code == 200
        (warning,) = ready.json()["warnings"]
        assert warning.startswith("In the last minute, the store took 1.")
        text = local.get("/metrics").text
        assert 'rye_store_seconds_count{operation="get"}' in text
        assert 'rye_store_seconds_bucket{le="1.0",operation="replace"}' in text


def test_readiness_tells_a_frozen_database_from_a_silent_store(
    service: tuple[FakeBucket, str], empty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake, address = service
    data = made(address, tmp_path / "data", empty)
    with LocalRegistry(data, QUIET, make=False) as local:
        assert local.get("/readyz").status_code == 200
        monkeypatch.setattr("registry_server.api.readiness.PROBE_SECONDS", 0.5)
        admin = sa.create_engine(empty)
        with admin.connect() as connection:
            query = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            pids = list(connection.execute(sa.text(query)).scalars())
        assert pids
        try:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            local.service.readiness._known = None
            assert error_code(local.get("/readyz")) == "database-silent"
            assert local.get("/livez").status_code == 200
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
            admin.dispose()
        fake.delay = 3
        local.service.readiness._known = None
        assert error_code(local.get("/readyz")) == "store-silent"
        fake.delay = 0
        assert until_ready(local) == 200


def until_ready(local: LocalRegistry) -> int:
    for _ in range(200):
        local.service.readiness._known = None
        if local.get("/readyz").status_code == 200:
            return 200
        time.sleep(0.05)
    return 503


def test_readiness_ends_trouble_that_is_over_without_a_heartbeat(
    service: tuple[FakeBucket, str], tmp_path: Path
) -> None:
    fake, address = service
    with LocalRegistry(made(address, tmp_path / "data"), QUIET, make=False) as local:
        fake.fault = lambda one: 403 if one.method == "PUT" else None
        refused = local.statements(local.token(), Publisher("acme").claim())
        assert refused.status_code == 503
        fake.requests.clear()
        assert local.get("/readyz").status_code == 503
        assert any(one.method == "PUT" for one in fake.requests)  # it tried
        fake.fault = lambda _one: None
        assert local.get("/readyz").status_code == 200


@pytest.mark.parametrize(("database_", "objects", "refused"), [
    ("postgresql+psycopg://h/d", "s3://b/p", True), ("", "s3://b/p", False), ("postgresql+psycopg://h/d", "", False),
])  # fmt: skip
def test_a_request_to_the_store_must_end_before_another_server_takes_over(
    tmp_path: Path, database_: str, objects: str, refused: bool
) -> None:
    lines = [f'database = "{database_}"', f'objects = "{objects}"', "leader_seconds = 10", "store_wait_seconds = 5"]
    (tmp_path / "registry.toml").write_text("\n".join(lines))
    if not refused:
        assert load(tmp_path, {}, {}).store_wait_seconds == 5
        return
    with pytest.raises(UsageError, match="could lose the log") as caught:
        load(tmp_path, {}, {})
    assert caught.value.code == "bad-setting"
    assert load(tmp_path, {"store_wait_seconds": 4.9}, {}).store_wait_seconds == 4.9


def test_the_default_waiting_times_fit_each_other(tmp_path: Path) -> None:
    (tmp_path / "registry.toml").write_text('database = "postgresql+psycopg://h/d"\nobjects = "s3://b/p"\n')
    settings = load(tmp_path, {}, {})
    assert settings.store_wait_seconds * 2 < settings.leader_seconds


def test_the_watch_keeps_the_slowest_of_a_minute() -> None:
    now = [0.0]
    told: list[tuple[str, float, bool]] = []
    watch = StoreWatch(8.0, lambda *given: told.append(given), lambda: now[0])
    for seconds in (1.0, 6.0, 4.0):
        with watch.request("get"):
            now[0] += seconds
    assert watch.slowest() == 6.0
    now[0] += 61
    assert watch.slowest() is None

    def fail() -> None:
        with watch.request("put"):
            now[0] += 4.0
            raise RyeError("store-silent", "It said nothing.", None)

    with pytest.raises(RyeError):
        fail()
    assert watch.slowest() == 4.0
    assert told == [("get", 1.0, False), ("get", 6.0, False), ("get", 4.0, False), ("put", 4.0, True)]


def test_a_database_error_in_words_of_the_driver_has_its_own_code() -> None:
    class Ended(Exception):
        sqlstate = "25P03"

    assert (
        database.explained(Ended("terminating connection due to idle-in-transaction timeout")).code == "writer-silent"
    )
