"""The text index is tidied up behind answers and in quiet moments: fewer places to look, the same results, and nobody waits."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from itertools import cycle, pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from registry_server.accounts import registry_keys
from registry_server.migrations import opening
from registry_server.search import documents
from registry_server.search.documents import SearchDocument
from registry_server.search.finding import SearchResults, find
from registry_server.sequencer import behind
from registry_server.sequencer.sequencer import Receipt, Sequencer
from registry_server.settings import load
from registry_server.storage import database
from registry_server.storage.room import ROOM_BYTES
from registry_server.storage.store_factory import public_objects, upload_objects
from registry_server.upkeep.founding import found
from rye.errors import RyeError
from tests.scenes.publisher import Publisher
from tests.scenes.registry_process import ORIGIN

WORDS = ("deploy", "build", "lint", "release", "review", "index", "parse", "merge")
QUERIES = ("deploy", "build release", "acme/tools/lint-3", "rev", "delpoy", "words of item")


def some(first: int, count: int) -> list[SearchDocument]:
    return [
        SearchDocument(
            "tool",
            f"acme/tools/{WORDS[n % 8]}-{n}",
            "1.0.0",
            f"Words of item {n}: {WORDS[n * 5 % 8]} {WORDS[n * 3 % 8]}",
        )
        for n in range(first, first + count)
    ]


def parts(engine: sa.Engine) -> int:
    with database.reader(engine) as connection:
        return int(connection.exec_driver_sql("SELECT count(DISTINCT segid) FROM documents_fts_idx").scalar_one())


def answers(engine: sa.Engine) -> list[SearchResults]:
    with database.reader(engine) as connection:
        return [find(connection, query) for query in QUERIES]


def test_parts_of_sqlite_s_index_become_one_and_searches_find_the_same(tmp_path: Path) -> None:
    engine = opening.connect(f"sqlite:///{tmp_path / 'registry.db'}")
    for first in range(0, 180, 60):
        with database.writer(engine) as connection:
            documents.replace(connection, [], some(first, 60))
    with database.writer(engine) as connection:
        documents.replace(connection, [document.name for document in some(0, 30)], [])
    before, found_before = parts(engine), answers(engine)
    assert before > 2
    steps = 0
    while documents.settle_index(engine):
        steps += 1
        assert steps < 100
    assert parts(engine) < before
    assert answers(engine) == found_before
    assert not documents.settle_index(engine), "nothing is left to do"
    with database.writer(engine) as connection:
        assert documents.index_problems(connection) == []
        documents.replace(connection, [], some(300, 20))
        assert documents.index_problems(connection) == []
    engine.dispose()


def test_a_step_that_is_undone_leaves_the_index_as_it_was(tmp_path: Path) -> None:
    place = tmp_path / "registry.db"
    engine = opening.connect(f"sqlite:///{place}")
    for first in range(0, 180, 60):
        with database.writer(engine) as connection:
            documents.replace(connection, [], some(first, 60))
    before, found_before = parts(engine), answers(engine)
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.execute("BEGIN IMMEDIATE")
        driver.execute("INSERT INTO documents_fts(documents_fts, rank) VALUES ('usermerge', 2)")
        driver.execute("INSERT INTO documents_fts(documents_fts, rank) VALUES ('merge', 1000)")
        driver.execute("ROLLBACK")
    assert (parts(engine), answers(engine)) == (before, found_before)
    with database.reader(engine) as reading:
        assert documents.index_problems(reading) == []
    engine.dispose()


@pytest.fixture
def sequencer(tmp_path: Path) -> Iterator[Sequencer]:
    data = tmp_path / "data"
    found(data, ORIGIN, {}, None, 365)
    settings = load(data, {}, {})
    engine = opening.open_database(settings)
    log_keys = registry_keys.in_folder(settings.keys, "log")
    yield Sequencer(engine, public_objects(settings), upload_objects(settings), log_keys, settings)
    engine.dispose()


class Endless:
    """An index that is never settled."""

    def __init__(self) -> None:
        self.steps = 0
        self.working = threading.Event()

    def __call__(self, _engine: sa.Engine) -> bool:
        self.steps += 1
        self.working.set()
        return True


def idle(sequencer: Sequencer) -> bool:
    """Whether nothing goes on behind the answers, within a moment."""
    return sequencer._behind.finish(20)


@pytest.mark.processes
def test_settling_gives_way_to_a_batch_and_to_the_end(sequencer: Sequencer, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = Endless()
    monkeypatch.setattr(documents, "settle_index", endless)
    monkeypatch.setattr(behind, "_SETTLING_SECONDS", 60.0)
    sequencer.start()
    sequencer.heartbeat()
    assert endless.working.wait(30)
    assert isinstance(sequencer.submit([Publisher("acme").claim_candidate()]).result(20), Receipt)
    assert idle(sequencer)
    endless.working.clear()
    sequencer.heartbeat()
    assert endless.working.wait(30)
    began = time.monotonic()
    assert sequencer.stop(30)
    assert time.monotonic() - began < 30  # not the minute


@pytest.mark.processes
def test_a_registry_that_never_rests_settles_after_a_batch_now_and_then(
    sequencer: Sequencer, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = Endless()
    monkeypatch.setattr(documents, "settle_index", endless)
    monkeypatch.setattr(behind, "_SETTLING_SECONDS", 0.0)
    sequencer.start()
    sequencer.submit([Publisher("acme").claim_candidate()]).result(20)
    assert idle(sequencer)
    assert endless.steps == 0
    monkeypatch.setattr(behind, "_UNSETTLED_SECONDS", -1.0)
    sequencer.submit([Publisher("beta").claim_candidate()]).result(20)
    assert endless.working.wait(30)
    assert sequencer.stop(5)
    assert endless.steps == 1


@pytest.mark.processes
def test_it_ends_by_itself_after_a_while(sequencer: Sequencer, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = Endless()
    monkeypatch.setattr(documents, "settle_index", endless)
    monkeypatch.setattr(behind, "_SETTLING_SECONDS", 0.1)
    sequencer.heartbeat()
    assert idle(sequencer)
    assert 1 < endless.steps < 20


@pytest.mark.processes
def test_after_a_long_step_others_have_longer_to_write(sequencer: Sequencer, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[float] = []

    def slow(_engine: sa.Engine) -> bool:
        steps.append(time.monotonic())
        time.sleep(0.1)
        return True

    monkeypatch.setattr(documents, "settle_index", slow)
    monkeypatch.setattr(behind, "_SETTLING_SECONDS", 1.0)
    sequencer.heartbeat()
    assert idle(sequencer)
    assert len(steps) > 1
    assert min(after - before for before, after in pairwise(steps)) > 0.25


@pytest.mark.processes
def test_what_fails_is_told_and_tried_again(
    sequencer: Sequencer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_engine: sa.Engine) -> bool:
        raise RyeError("storage-full", "The database's disk is full.", "Free some space.")

    monkeypatch.setattr(documents, "settle_index", full)
    for _ in range(3):
        sequencer.heartbeat()
        assert idle(sequencer)
    assert caplog.text.count("will be at the next heartbeat") == 1
    monkeypatch.setattr(documents, "settle_index", lambda _engine: 1 // 0)
    sequencer.heartbeat()
    assert idle(sequencer)
    assert "something behind the batches failed" in caplog.text
    assert "ZeroDivisionError" in caplog.text
    endless = Endless()
    monkeypatch.setattr(documents, "settle_index", endless)
    monkeypatch.setattr(behind, "_SETTLING_SECONDS", 0.0)
    sequencer.heartbeat()
    assert idle(sequencer)
    assert endless.steps == 1


class Disk:
    """A disk as :func:`shutil.disk_usage` shows it, with so many bytes free each time that it is asked."""

    def __init__(self, *free: int) -> None:
        self._free = cycle(free)
        self.asked: list[Path] = []

    def __call__(self, folder: Path) -> SimpleNamespace:
        self.asked.append(Path(folder))
        return SimpleNamespace(free=next(self._free))


@pytest.mark.processes
def test_on_a_full_disk_it_waits_for_room_and_says_so_once(
    sequencer: Sequencer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Merging writes to a disk before it frees anything there: the room that is left is for batches."""
    for first in range(0, 600, 200):
        with database.writer(sequencer.engine) as connection:
            documents.replace(connection, [], some(first, 200))
    before = parts(sequencer.engine)
    assert before > 2
    full = Disk(ROOM_BYTES + 500_000)
    monkeypatch.setattr(shutil, "disk_usage", full)
    monkeypatch.setattr(documents, "_MERGED_PAGES", 1)
    for _ in range(3):
        sequencer.heartbeat()
        assert idle(sequencer)
    assert parts(sequencer.engine) == before
    assert full.asked[-1] == sequencer.settings.data
    assert caplog.text.count("too little room") == 1
    monkeypatch.setattr(shutil, "disk_usage", Disk(3 * ROOM_BYTES, 0))
    for _ in range(3):
        sequencer.heartbeat()
        assert idle(sequencer)
    assert caplog.text.count("too little room") == 1, "it stopped again and again after a step, for the same reason"
    monkeypatch.setattr(shutil, "disk_usage", Disk(3 * ROOM_BYTES))
    sequencer.heartbeat()
    assert idle(sequencer)
    assert parts(sequencer.engine) == 1
    assert caplog.text.count("not settled") == 1
