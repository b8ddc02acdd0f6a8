"""How requests are batched: immediately when no batch is in progress, together when one is
(design/server.md 3)."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest

from registry_server.sequencer import batching
from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.batching import Batches, Outcome, Receipt, Sender


class Log:
    """Accepts batches and records how many requests each had."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.tidied = threading.Event()

    def work(self, requests: Sequence[Sequence[Candidate]], _senders: Sequence[Sender | None] | None) -> list[Outcome]:
        self.sizes.append(len(requests))
        return [Receipt((), 1) for _ in requests]

    def tidy(self) -> None:
        self.tidied.set()

    def heartbeat(self) -> bool:
        return False


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def batches(log: Log, monkeypatch: pytest.MonkeyPatch) -> Batches:
    monkeypatch.setattr(batching, "LINGER_SECONDS", 10.0)
    found = Batches(log, 1000, 60)
    found._linger = 10.0  # as after a slow batch
    return found


def test_a_request_that_comes_alone_waits_for_nobody(log: Log, batches: Batches) -> None:
    batches.start()
    assert batches.submit([], None).result(5) == Receipt((), 1)
    assert log.tidied.wait(5)
    assert batches.stop(5)
    assert log.sizes == [1]


def test_a_batch_waits_for_the_request_that_is_being_examined(log: Log, batches: Batches) -> None:
    with batches.expecting():
        batches.start()
        first = batches.submit([], None)
        second = batches.submit([], None)
    third = batches.submit([], None)
    assert [future.result(5).size for future in (first, second, third)] == [1, 1, 1]
    batches.stop(5)
    assert log.sizes[0] >= 2


def test_an_expected_request_that_is_refused_holds_nobody_up_for_long(
    log: Log, batches: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches._linger = 0.05
    with batches.expecting():
        batches.start()
        assert batches.submit([], None).result(5).size == 1
    batches.stop(5)
    assert log.sizes == [1]


def test_batches_keep_their_interval_and_what_comes_meanwhile_goes_together(log: Log) -> None:
    batches = Batches(log, 1000, 60, interval_seconds=0.3)
    batches.start()
    batches.submit([], None).result(5)
    started = time.monotonic()
    both = [batches.submit([], None) for _ in range(2)]
    assert [future.result(5).size for future in both] == [1, 1]
    assert time.monotonic() - started > 0.2
    assert batches.stop(5)
    assert log.sizes == [1, 2]
