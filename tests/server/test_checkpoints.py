"""SQLite's write-ahead log is copied into the database's file after batches, and not by the commit that someone waits for."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import sqlalchemy as sa

from registry_server.accounts import registry_keys
from registry_server.migrations import opening
from registry_server.sequencer.sequencer import Sequencer
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.objects import Folder
from registry_server.upkeep.founding import found
from tests.scenes.publisher import Publisher
from tests.scenes.registry_process import ORIGIN


def grown(engine: sa.Engine, pages: int) -> None:
    with database.change(engine) as connection:
        connection.exec_driver_sql("CREATE TABLE big (bytes BLOB)")
        connection.exec_driver_sql("INSERT INTO big VALUES (zeroblob(?))", (pages * 4096,))


def test_a_log_of_many_pages_needs_copying_once(tmp_path: Path) -> None:
    engine = database.engine_of(f"sqlite:///{tmp_path / 'some.db'}")
    grown(engine, 10)
    assert not database.needs_checkpoint(engine)
    with database.change(engine) as connection:
        connection.exec_driver_sql("UPDATE big SET bytes = zeroblob(?)", (database.CHECKPOINT_PAGES * 4096,))
    assert database.needs_checkpoint(engine)
    size = (tmp_path / "some.db").stat().st_size
    database.checkpoint(engine)
    assert not database.needs_checkpoint(engine)
    assert (tmp_path / "some.db").stat().st_size > size
    grown_before = (tmp_path / "some.db-wal").stat().st_size
    with database.change(engine) as connection:
        connection.exec_driver_sql("CREATE TABLE small (number INTEGER)")
    assert not database.needs_checkpoint(engine), f"the file stays as large ({grown_before}), its pages are counted"
    engine.dispose()


def test_someone_who_reads_only_delays_it(tmp_path: Path) -> None:
    engine = database.engine_of(f"sqlite:///{tmp_path / 'some.db'}")
    grown(engine, 10)
    with database.reader(engine) as reading:
        assert reading.exec_driver_sql("SELECT count(*) FROM big").scalar() == 1
        with database.change(engine) as connection:
            connection.exec_driver_sql("UPDATE big SET bytes = zeroblob(?)", (database.CHECKPOINT_PAGES * 4096 * 2,))
        database.checkpoint(engine)
        assert database.needs_checkpoint(engine)
        assert reading.exec_driver_sql("SELECT sum(length(bytes)) FROM big").scalar() == 10 * 4096
    database.checkpoint(engine)
    assert not database.needs_checkpoint(engine)
    engine.dispose()


def test_a_batch_that_was_answered_is_followed_by_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data"
    found(data, ORIGIN, {}, None, 365)
    settings = Settings(data=data)
    engine = opening.open_database(settings)
    log_keys = registry_keys.in_folder(settings.keys, "log")
    uploads = Folder(settings.uploads)
    uploads.put(hashlib.sha256(b"x").hexdigest(), b"x")
    sequencer = Sequencer(engine, Folder(settings.public), uploads, log_keys, settings)
    monkeypatch.setattr(database, "CHECKPOINT_PAGES", 5)
    acme = Publisher("acme")
    sequencer.start()
    sequencer.submit([acme.claim_candidate()]).result(20)
    sequencer.submit([acme.candidate("a/one", sha256=hashlib.sha256(b"x").hexdigest())]).result(20)
    assert sequencer.stop(20)
    assert not database.needs_checkpoint(engine)
    engine.dispose()
