"""SQLite's write-ahead log is copied into the database's file after batches, and not by the commit that someone waits for."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from registry_server.accounts import registry_keys
from registry_server.migrations import opening
from registry_server.sequencer import behind
from registry_server.sequencer.sequencer import Sequencer
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.objects import Folder
from registry_server.upkeep.founding import found
from tests.scenes.publisher import Publisher
from tests.scenes.registry_process import ORIGIN

SHA256 = hashlib.sha256(b"x").hexdigest()
PAGES = 100
IS_HELD = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 128)
    except OSError:
        print("held")
"""
"""Whether another process holds the lock that keeps SQLite from emptying the index of the log (walformat.html, WAL_DMS)."""


def is_held(place: Path) -> bool:
    words = [sys.executable, "-c", IS_HELD, f"{place}-shm"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout == "held\n"


def size_of(place: Path) -> int:
    return place.stat().st_size


def grown(engine: sa.Engine) -> None:
    with database.change(engine) as connection:
        connection.exec_driver_sql("CREATE TABLE big (bytes BLOB)")
        connection.exec_driver_sql("INSERT INTO big VALUES (zeroblob(?))", (PAGES * 4096,))


def test_what_was_written_is_copied_without_a_commit_having_to(tmp_path: Path) -> None:
    place = tmp_path / "some.db"
    engine = database.engine_of(f"sqlite:///{place}")
    grown(engine)
    assert size_of(place) < PAGES * 4096
    database.checkpoint(engine)
    assert size_of(place) > PAGES * 4096
    engine.dispose()


def test_someone_who_reads_is_not_disturbed(tmp_path: Path) -> None:
    engine = database.engine_of(f"sqlite:///{tmp_path / 'some.db'}")
    grown(engine)
    with database.reader(engine) as reading:
        assert reading.exec_driver_sql("SELECT count(*) FROM big").scalar() == 1
        with database.change(engine) as connection:
            connection.exec_driver_sql("DELETE FROM big")
        database.checkpoint(engine)
        assert reading.exec_driver_sql("SELECT sum(length(bytes)) FROM big").scalar() == PAGES * 4096
    engine.dispose()


@pytest.mark.processes
def test_a_batch_that_was_answered_is_followed_by_it_and_the_locks_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opens and closes a file of the database loses all its locks, and the next process empties what is mapped here."""
    data = tmp_path / "data"
    found(data, ORIGIN, {}, None, 365)
    settings = Settings(data=data)
    engine = opening.open_database(settings)
    log_keys = registry_keys.in_folder(settings.keys, "log")
    uploads = Folder(settings.uploads)
    uploads.put(SHA256, b"x")
    sequencer = Sequencer(engine, Folder(settings.public), uploads, log_keys, settings)
    monkeypatch.setattr(behind, "_COPIED_SECONDS", -1.0)
    with database.reader(engine):
        assert is_held(settings.database_file)
    acme = Publisher("acme")
    before = size_of(settings.database_file)
    sequencer.start()
    sequencer.submit([acme.claim_candidate()]).result(20)
    for number in range(20):
        sequencer.submit([acme.candidate(f"a/n{number}", sha256=SHA256)]).result(20)
    assert sequencer.stop(20)
    assert size_of(settings.database_file) > before
    assert is_held(settings.database_file)
    engine.dispose()
    assert not Path(f"{settings.database_file}-shm").exists()


@pytest.mark.processes
def test_the_control_of_the_lock(tmp_path: Path) -> None:
    place = tmp_path / "some.db"
    engine = database.engine_of(f"sqlite:///{place}")
    grown(engine)
    assert is_held(place)
    open(f"{place}-shm", "rb").close()
    assert not is_held(place), "this is what must not happen"
    engine.dispose()
