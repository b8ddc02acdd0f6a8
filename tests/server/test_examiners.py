"""Examining requests in other processes: the same findings and errors as here, and no request lost when one of them ends."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from registry_server.accounts import registry_keys
from registry_server.accounts.tokens import Account
from registry_server.api import examiners, worker
from registry_server.api.examination import Examination
from registry_server.api.examiners import Examiners
from registry_server.api.frames import Sent, frame, read_frame
from registry_server.api.worker import Analyst, Desk, Done, Released, Start, Work
from registry_server.migrations import opening
from registry_server.pages.analysis_store import AnalysisStore
from registry_server.sequencer.sequencer import Receipt, Sequencer
from registry_server.settings import Settings
from registry_server.storage.objects import Folder
from registry_server.upkeep.founding import found
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.protocol.statements import AttachedFile, FileEntry, Hook, Relation
from tests.scenes.publisher import Publisher
from tests.scenes.registry_process import ORIGIN

ANYONE = Account(token="0" * 16, name="test", namespaces=())


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    data = tmp_path / "data"
    found(data, ORIGIN, {}, None, 365)
    return Settings(data=data)


@pytest.fixture
def examination(settings: Settings) -> Iterator[Examination]:
    engine = opening.open_database(settings)
    yield Examination(engine, ORIGIN, Folder(settings.public), Folder(settings.uploads), settings)
    engine.dispose()


@pytest.fixture
def release(settings: Settings) -> str:
    """The note of a release whose namespace is claimed and whose file is uploaded."""
    acme = Publisher("acme")
    engine = opening.open_database(settings)
    log_keys = registry_keys.in_folder(settings.keys, "log")
    sequencer = Sequencer(engine, Folder(settings.public), Folder(settings.uploads), log_keys, settings)
    assert isinstance(sequencer.append([[acme.claim_candidate()]])[0], Receipt)
    engine.dispose()
    data = acme.file("a/b")
    made = acme.release("a/b", data)
    Folder(settings.uploads).put(made.file.sha256, data)
    return acme.note(made)


def test_a_statement_reaches_another_process_as_it_was_read(examination: Examination) -> None:
    acme = Publisher("acme")
    several: dict[str, Any] = {
        "file": FileEntry("SKILL.md", 3, "0" * 64),
        "identity": Identity("skill", "acme/a/b"),
        "attached": (AttachedFile("b.txt", 2, "1" * 64), AttachedFile("a.txt", 1, "2" * 64)),
        "requires": (Relation("acme/b", Identity("directive", "acme/b"), "^1.0"), Relation("net", None)),
        "hooks": (Hook("directive", "acme/b"),),
    }
    notes = [acme.claim(), acme.note(acme.release("a/b", b"x")), acme.note(acme.release("a/b", b"x", **several))]
    for candidate in examination.read(notes):
        sent = msgspec.json.decode(msgspec.json.encode(Sent.of(candidate)), type=Sent)
        assert sent.candidate() == candidate
        assert sent.candidate().leaf == candidate.leaf


@asynccontextmanager
async def with_worker(examination: Examination, settings: Settings) -> AsyncIterator[Examiners]:
    """Examiners with one worker, which does everything."""
    pool = Examiners(examination, ORIGIN, replace(settings, examiners=1))
    pool._under_way = examiners.BUSY + 1
    pool._choose()
    pool._under_way = 0
    assert pool._starting is not None
    await asyncio.wait_for(pool._starting, 30)
    assert len(pool._workers) == 1
    try:
        yield pool
    finally:
        await pool.close()


@pytest.mark.processes
def test_a_worker_finds_and_refuses_what_this_process_does_and_may_end_at_any_time(
    examination: Examination, settings: Settings, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examiners, "ALONE", 0)
    here = examination.look_into(ANYONE, examination.read([release]))
    assert here[0].signer

    def is_examined_here(*_: object) -> None:
        raise AssertionError("the worker was not asked")

    async def ask() -> None:
        async with with_worker(examination, settings) as pool:
            (worker,) = pool._workers
            with monkeypatch.context() as patched:
                patched.setattr(Examination, "look_into", is_examined_here)
                assert await pool.examine(ANYONE, [release]) == here
                elsewhere = Account(token="0" * 16, name="test", namespaces=("other",))
                with pytest.raises(RyeError) as refused:
                    await pool.examine(elsewhere, [release])
                assert refused.value.code == "wrong-namespace"
                assert refused.value.hint
                with pytest.raises(RyeError) as damaged:
                    await pool.examine(ANYONE, ["not a note"])
                assert damaged.value.code.startswith("note-")
            worker.process.kill()
            assert await asyncio.gather(*(pool.examine(ANYONE, [release]) for _ in range(3))) == [here] * 3
            assert not worker.is_alive

    asyncio.run(ask())


@pytest.mark.processes
def test_files_that_came_with_the_request_are_read_from_it_and_no_others(
    examination: Examination, settings: Settings, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examiners, "ALONE", 0)
    (name,) = [path for path, *_ in Folder(settings.uploads).listing()]
    data = Folder(settings.uploads).get(name)
    assert data is not None
    Folder(settings.uploads).delete(name)

    async def ask() -> None:
        async with with_worker(examination, settings) as pool:
            (only,) = pool._workers
            for _ in ("in the worker", "here"):
                assert (await pool.examine(ANYONE, [release], [b"another", data]))[0].signer
                with pytest.raises(RyeError) as missing:
                    await pool.examine(ANYONE, [release], [data + b" "])
                assert missing.value.code == "blob-missing"
                await only.end()

    asyncio.run(ask())


def test_a_request_does_not_wait_for_the_analysis_of_an_earlier_one(
    examination: Examination, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, end = threading.Event(), threading.Event()

    def slowly(*_: object) -> None:
        begun.set()
        assert end.wait(20)

    monkeypatch.setattr(worker, "analyse_release", slowly)
    analyses = AnalysisStore(examination._uploads, examination._engine)
    desk = Desk(examination, Analyst(examination._engine, examination._public, analyses))
    assert desk.answer(Work(ANYONE, released=[Released("directive", "acme/a/b", "1.0.0")])) == Done()
    assert begun.wait(20)
    assert desk.answer(Work(ANYONE, [Sent.of(candidate) for candidate in examination.read([release])])).findings
    assert desk._is_busy()
    end.set()
    desk.close()


@pytest.mark.thorough
@pytest.mark.processes
def test_a_worker_that_is_stuck_is_ended_and_only_the_request_that_it_was_at_is_refused(
    examination: Examination, settings: Settings, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examiners, "ALONE", 0)
    here = examination.look_into(ANYONE, examination.read([release]))

    async def ask() -> None:
        async with with_worker(examination, settings) as pool:
            (worker,) = pool._workers
            monkeypatch.setattr(examiners, "STUCK_SECONDS", 0.2)
            os.kill(worker.process.pid, signal.SIGSTOP)
            asked = (pool.examine(ANYONE, [release]) for _ in range(3))
            first, *others = await asyncio.gather(*asked, return_exceptions=True)
            assert isinstance(first, RyeError)
            assert first.code == "publish-timeout"
            assert others == [here, here]
            assert worker.process.returncode is not None
            assert pool._choose() is None

    asyncio.run(ask())


@pytest.mark.thorough
@pytest.mark.processes
def test_one_request_by_itself_is_examined_here_although_there_is_a_worker(
    examination: Examination, settings: Settings, release: str
) -> None:
    here = examination.look_into(ANYONE, examination.read([release]))

    async def ask() -> None:
        async with with_worker(examination, settings) as pool:
            (worker,) = pool._workers
            os.kill(worker.process.pid, signal.SIGSTOP)
            assert await asyncio.wait_for(pool.examine(ANYONE, [release]), 20) == here
            two = asyncio.gather(pool.examine(ANYONE, [release]), pool.examine(ANYONE, [release]))
            while not worker.waiting:
                await asyncio.sleep(0.01)
            os.kill(worker.process.pid, signal.SIGCONT)
            assert list(await asyncio.wait_for(two, 20)) == [here, here]

    asyncio.run(ask())


@pytest.mark.thorough
@pytest.mark.processes
@pytest.mark.parametrize("place", ["in the worker", "here"])
def test_files_are_kept_once_nothing_is_wrong_with_them(
    place: str, examination: Examination, settings: Settings, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examiners, "ALONE", 0 if place == "in the worker" else 1)
    uploads = Folder(settings.uploads)
    (name,) = [path for path, *_ in uploads.listing()]
    data = uploads.get(name)
    assert data is not None
    uploads.delete(name)

    async def ask() -> None:
        async with with_worker(examination, settings) as pool:
            assert (await pool.examine(ANYONE, [release], [data]))[0].signer
            assert list(uploads.listing()) == []
            with pytest.raises(RyeError):
                await pool.examine(ANYONE, [release], [data + b" "], keeps=True)
            assert list(uploads.listing()) == []
            assert (await pool.examine(ANYONE, [release], [data], keeps=True))[0].signer
            assert uploads.get(name) == data

    asyncio.run(ask())


@pytest.mark.processes
def test_a_worker_that_never_comes_up_is_ended(
    examination: Examination, settings: Settings, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examiners, "COMMAND", ("sleep", "600"))
    monkeypatch.setattr(examiners, "START_SECONDS", 0.1)
    started = []
    start = examiners._Worker.start

    async def remember(values: Start) -> examiners._Worker:
        started.append(await start(values))
        return started[0]

    monkeypatch.setattr(examiners._Worker, "start", remember)

    async def ask() -> None:
        pool = Examiners(examination, ORIGIN, settings)
        await pool._start()
        assert pool._workers == []
        assert (await pool.examine(ANYONE, [release]))[0].signer

    asyncio.run(ask())
    assert started[0].process.returncode is not None


def test_a_quiet_registry_starts_no_worker(examination: Examination, settings: Settings, release: str) -> None:
    async def ask() -> None:
        pool = Examiners(examination, ORIGIN, settings)
        assert (await pool.examine(ANYONE, [release]))[0].signer
        assert pool._starting is None
        await pool.close()

    asyncio.run(ask())


def test_an_answer_that_does_not_fit_the_request_is_not_used(examination: Examination, release: str) -> None:
    with pytest.raises(examiners.Gone):
        examiners._with_findings(examination.read([release]), Done([]))


def test_frames_are_read_whole_or_not_at_all() -> None:
    data = frame(Done(code="busy"))
    assert read_frame(io.BytesIO(data)) == data[4:]
    assert read_frame(io.BytesIO(data[:-1])) is None
    assert read_frame(io.BytesIO(b"")) is None
