"""Batches appended by another process: the same receipts and errors as here, nothing lost or forked when it ends (server 3)."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from registry_server.accounts import registry_keys
from registry_server.api import delegating
from registry_server.api.delegating import DelegatingSequencer, WriterProcess
from registry_server.api.writer import Ask, WriterAnswer
from registry_server.migrations import opening
from registry_server.search import documents
from registry_server.sequencer import behind
from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.clock import Told, steady_seconds
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.sequencer import Receipt, Sender
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.objects import Folder
from registry_server.upkeep import audit
from registry_server.upkeep.founding import found
from rye.errors import RyeError
from tests.scenes.effort import rest_thorough
from tests.scenes.publisher import Publisher
from tests.scenes.registry_process import ORIGIN
from tests.server import dying_writer
from tests.server.delegated import handed_over

pytestmark = pytest.mark.processes

STEPS = ("begun", "appended", "committed", "written", "checkpoint", "shown")
BLOB = b"x"
BLOB_SHA256 = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("registry") / "template"
    found(data, ORIGIN, {}, None, 365)
    return data


@pytest.fixture
def data(template: Path, tmp_path: Path) -> Path:
    shutil.copytree(template, tmp_path / "data")
    Folder(tmp_path / "data" / "uploads").put(BLOB_SHA256, BLOB)
    return tmp_path / "data"


class Noted:
    """What the sequencer told the rest of the server."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.batches: list[tuple[int, int]] = []
        self.published: list[str] = []


@contextmanager
def opened(data: Path, told: Noted | None = None) -> Iterator[DelegatingSequencer]:
    told = told or Noted()
    settings = Settings(data=data)
    engine = opening.connect(settings.database_url)
    sequencer = DelegatingSequencer(
        engine,
        Folder(settings.public),
        Folder(settings.uploads),
        registry_keys.in_folder(settings.keys, "log"),
        settings,
        steady=steady_seconds,
        taken=lambda requests, statements: told.batches.append((requests, statements)),
        published=told.published.extend,
        took=lambda step, _seconds: told.steps.append(step),
        asked=lambda *_: None,
    )
    try:
        sequencer.recover()
        sequencer.start()
        yield sequencer
    finally:
        sequencer.stop(20)
        engine.dispose()


def leader(sequencer: DelegatingSequencer) -> str:
    with database.reader(sequencer.engine) as connection:
        return str(connection.exec_driver_sql("SELECT holder FROM leader").scalar())


def is_sound(sequencer: DelegatingSequencer) -> bool:
    with database.reader(sequencer.engine) as connection:
        ledger = Ledger(connection)
        assert audit.verify(ledger, sequencer.public) == []
        published = ledger.published()
    return published is not None and sequencer.public.get("head") == published.document


def release(acme: Publisher, name: str, version: str = "1.0.0") -> list[Candidate]:
    return [acme.candidate(name, version, BLOB_SHA256)]


def test_the_process_appends_what_the_thread_would_have_appended(data: Path) -> None:
    acme, told = Publisher("acme"), Noted()
    with opened(data, told) as sequencer:
        sequencer.submit([acme.claim_candidate()]).result(20)
        here = leader(sequencer)
        process = handed_over(sequencer)
        first = sequencer.submit(release(acme, "a/one"), Sender("token", "127.0.0.1")).result(20)
        assert leader(sequencer) != here
        assert (first.size, first.results[0].duplicate) == (first.results[0].position + 2, False)
        again = sequencer.submit(release(acme, "a/one")).result(20)
        assert (again.results[0].position, again.results[0].duplicate) == (first.results[0].position, True)
        with pytest.raises(RyeError) as refused:
            sequencer.submit([Publisher("acme").candidate("a/two", "1.0.0", BLOB_SHA256)]).result(20)
        assert refused.value.code.startswith("statement-")
        assert refused.value.message
        assert is_sound(sequencer)
        assert sequencer.trouble is None
        sequencer.retry().result(20)  # the heartbeat is the process's as well
        ends = time.monotonic() + 20
        while list(Folder(data / "uploads").listing()):  # cleaned up by the process, without being asked
            assert time.monotonic() < ends
            time.sleep(0.01)
        sequencer.retry().result(20)  # which tells of it with its next answer
    assert told.steps[:6] == ["begun", "appended", "committed", "written", "checkpoint", "shown"]
    assert (1, 1) in told.batches
    assert set(told.published) == {BLOB_SHA256}  # told again where the upload was not gone yet
    assert process.returncode == 0


@pytest.mark.parametrize("step", rest_thorough(1, ("committed", *(each for each in STEPS if each != "committed"))))
def test_when_the_process_is_killed_at_any_step_every_request_is_answered_and_appended_once(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    monkeypatch.setattr(delegating, "COMMAND", (sys.executable, "-m", "tests.server.dying_writer"))
    monkeypatch.setenv(dying_writer.STEP, step)
    monkeypatch.setenv(dying_writer.DIED, str(tmp_path / "died"))
    acme = Publisher("acme")
    with opened(data) as sequencer:
        sequencer.submit([acme.claim_candidate()]).result(20)
        process = handed_over(sequencer)
        waiting = [sequencer.submit(release(acme, f"a/n{number}")) for number in range(4)]
        receipts = [future.result(30) for future in waiting]
        assert (tmp_path / "died").exists()
        assert process.poll() == -signal.SIGKILL
        assert len({receipt.results[0].position for receipt in receipts}) == 4
        assert sequencer.trouble is None
        assert is_sound(sequencer)
        handed_over(sequencer)  # and another one goes on
        assert isinstance(sequencer.submit(release(acme, "a/after")).result(20), Receipt)
        assert is_sound(sequencer)


@pytest.mark.thorough
def test_a_process_that_does_not_answer_is_killed_before_the_server_appends(data: Path) -> None:
    acme = Publisher("acme")
    with opened(data) as sequencer:
        sequencer.submit([acme.claim_candidate()]).result(20)
        process = handed_over(sequencer)
        sequencer.submit(release(acme, "a/one")).result(20)
        sequencer.retry().result(20)  # nobody waits for the process now
        sequencer._seconds = 0.3
        os.kill(process.pid, signal.SIGSTOP)
        receipt = sequencer.submit(release(acme, "a/two")).result(20)
        assert not receipt.results[0].duplicate
        assert process.poll() == -signal.SIGKILL
        assert is_sound(sequencer)


def test_a_process_that_answers_for_other_requests_is_ended_and_the_server_appends(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme, ask = Publisher("acme"), WriterProcess.ask

    def forgetting(writer: WriterProcess, asked: Ask, seconds: float) -> WriterAnswer:
        answer = ask(writer, asked, seconds)
        return replace(answer, results=answer.results[1:])

    monkeypatch.setattr(WriterProcess, "ask", forgetting)
    with opened(data) as sequencer:
        sequencer.submit([acme.claim_candidate()]).result(20)
        process = handed_over(sequencer)
        assert isinstance(sequencer.submit(release(acme, "a/one")).result(20), Receipt)
        assert process.poll() is not None
        assert is_sound(sequencer)


@pytest.mark.thorough
def test_what_the_process_finds_wrong_with_the_store_is_the_trouble_of_the_server(data: Path) -> None:
    acme = Publisher("acme")
    with opened(data) as sequencer:
        sequencer.submit([acme.claim_candidate()]).result(20)
        handed_over(sequencer)
        sequencer.submit(release(acme, "a/one")).result(20)
        head = sequencer.public.get("head")
        assert head is not None
        sequencer.public.put("head", head.replace(ORIGIN.encode(), b"another.example.org"))
        with pytest.raises(RyeError) as refused:
            sequencer.submit(release(acme, "a/two")).result(20)
        assert refused.value.code == "store-foreign"
        assert sequencer.trouble is not None
        assert sequencer.trouble.code == "store-foreign"
        sequencer.public.put("head", head)
        sequencer.submit(release(acme, "a/two")).result(20)
        assert sequencer.trouble is None


@pytest.mark.thorough
def test_the_clock_is_believed_in_both_processes(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process starts without a witness of its own; the server's has been told, and learns what the process believes."""
    acme = Publisher("acme")
    with opened(data) as sequencer:
        sequencer.submit([acme.claim_candidate()]).result(20)
        before = sequencer.clock.believed()
        assert before.anchor is not None
        monkeypatch.setattr(sequencer.clock, "_anchor", before.anchor._replace(seconds=before.anchor.seconds - 7200))
        handed_over(sequencer)
        with pytest.raises(RyeError) as refused:  # two hours ahead of what the server believed
            sequencer.submit(release(acme, "a/one")).result(20)
        assert refused.value.code == "clock-jumped"
        with pytest.raises(RyeError):
            sequencer.clock.refuse()


@pytest.mark.thorough
def test_what_the_server_learns_of_the_clock_later_reaches_the_process_with_each_batch(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may rest for months, while the server compares its clock anew every hour."""
    acme = Publisher("acme")
    with opened(data) as sequencer:
        sequencer.submit([acme.claim_candidate()]).result(20)
        handed_over(sequencer)
        sequencer.submit(release(acme, "a/one")).result(20)
        sequencer.retry().result(20)  # nobody asks the process now
        told = {"store": Told(time.time() - 7200, steady_seconds())}
        monkeypatch.setattr(sequencer.clock, "_told", told)
        with pytest.raises(RyeError) as refused:
            sequencer.submit(release(acme, "a/two")).result(20)
        assert refused.value.code == "clock-jumped"


@pytest.mark.thorough
def test_it_ends_with_the_server_and_starts_for_a_crowd_only(data: Path) -> None:
    acme = Publisher("acme")
    with opened(data) as sequencer:
        sequencer._may_start = True
        for name in ("a/one", "a/two"):
            if name == "a/one":
                sequencer.submit([acme.claim_candidate()]).result(20)
            sequencer.submit(release(acme, name)).result(20)
        assert sequencer._starting is None
        sequencer.work([release(acme, f"a/c{number}") for number in range(delegating.CROWD)], None)
        assert isinstance(sequencer._starting, threading.Thread)
        sequencer._starting.join(30)
        assert sequencer._ready is not None
        process = sequencer._ready.process
    assert process.poll() is not None


@pytest.mark.thorough
def test_a_single_publisher_is_served_by_the_thread_again(data: Path) -> None:
    acme = Publisher("acme")
    with opened(data) as sequencer:
        sequencer.submit([acme.claim_candidate()]).result(20)
        here = leader(sequencer)
        process = handed_over(sequencer)
        for number in range(delegating.ALONE + 1):
            sequencer.submit(release(acme, f"a/n{number}")).result(20)
            assert leader(sequencer) != here
        for number in range(2):
            sequencer.submit(release(acme, f"a/m{number}")).result(20)
            assert leader(sequencer) == here
        assert is_sound(sequencer)
        assert sequencer.stop(20)
        sequencer._is_stopping = False
        handed_over(sequencer)
        sequencer.work([release(acme, f"a/o{number}") for number in range(2)], None)
        assert leader(sequencer) != here
        assert is_sound(sequencer)
    assert process.returncode == 0


@pytest.mark.thorough
def test_settling_here_gives_way_to_a_batch_of_the_process(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settling = threading.Event()

    def endless(_engine: object) -> bool:
        settling.set()
        return True

    with opened(data) as sequencer:
        monkeypatch.setattr(documents, "settle_index", endless)
        monkeypatch.setattr(behind, "_SETTLING_SECONDS", 60.0)
        here = leader(sequencer)
        handed_over(sequencer)
        sequencer._behind.settle()  # as a heartbeat does while there is a single publisher
        assert settling.wait(5)
        sequencer.submit([Publisher("acme").claim_candidate()]).result(20)
        assert leader(sequencer) != here
        assert sequencer._behind.finish(5)


def test_a_process_that_never_comes_up_is_ended(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delegating, "COMMAND", ("sleep", "600"))
    monkeypatch.setattr(delegating, "START_SECONDS", 0.2)
    monkeypatch.setattr(delegating, "END_SECONDS", 0.1)
    with opened(data) as sequencer:
        sequencer._may_start = True
        sequencer._start()
        assert sequencer._ready is None
        assert isinstance(sequencer.submit([Publisher("acme").claim_candidate()]).result(20), Receipt)
