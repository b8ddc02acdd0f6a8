"""How requests are batched: immediately when no other is on its way, together when several publishers are at work
(design/server.md 3)."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest

from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.batching import (
    ENOUGH,
    PAUSE_SECONDS,
    Batches,
    Crowd,
    Outcome,
    Pace,
    Receipt,
    Sender,
    rest,
)
from rye.errors import RyeError


class Log:
    """Accepts batches and records how many requests each had; while ``open`` is cleared, a batch does not end."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.tidied = threading.Event()
        self.begun = threading.Semaphore(0)
        self.open = threading.Event()
        self.open.set()
        self.fault: Exception | None = None

    def work(self, requests: Sequence[Sequence[Candidate]], _senders: Sequence[Sender | None] | None) -> list[Outcome]:
        self.sizes.append(len(requests))
        self.begun.release()
        assert self.open.wait(10)
        if self.fault is not None:
            raise self.fault
        return [Receipt((), 1) for _ in requests]

    def tidy_soon(self) -> None:
        self.tidied.set()

    def heartbeat(self) -> bool:
        return False


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def batches(log: Log) -> Batches:
    return Batches(log, 1000, 60)


def patient(batches: Batches, seconds: float = 10.0) -> Batches:
    """Set it to as much patience as after a slow batch."""
    batches._pace = Pace(patience=seconds)
    return batches


class TestTheWait:
    """:func:`rest`, with times that are only numbers."""

    PACE = Pace(patience=0.02)
    CROWDED = Pace(patience=0.02, is_crowded=True)

    def test_a_request_that_comes_alone_does_not_wait(self) -> None:
        assert rest(self.PACE, Crowd(first=100.0, waiting=1, coming=0, newest=100.0), 100.0) == 0

    def test_requests_that_are_being_examined_are_waited_for_as_long_as_the_last_batch_took(self) -> None:
        crowd = Crowd(first=100.0, waiting=1, coming=1, newest=100.0)
        assert rest(self.PACE, crowd, 100.005) == pytest.approx(0.015)
        assert rest(self.PACE, crowd, 100.02) == 0

    def test_one_that_keeps_being_examined_does_not_hold_the_others_up_longer(self) -> None:
        stuck = Crowd(first=100.0, waiting=5, coming=1, newest=100.5)
        assert rest(self.PACE, stuck, 100.5) == 0

    def test_in_a_crowd_it_waits_for_a_pause_between_arrivals(self) -> None:
        crowd = Crowd(first=100.0, waiting=2, coming=0, newest=100.004)
        assert rest(self.CROWDED, crowd, 100.005) == pytest.approx(PAUSE_SECONDS - 0.001)
        assert rest(self.CROWDED, crowd, 100.004 + PAUSE_SECONDS) == 0

    def test_arrivals_without_a_pause_do_not_prolong_the_wait_for_ever(self) -> None:
        crowd = Crowd(first=100.0, waiting=9, coming=0, newest=100.0195)
        assert rest(self.CROWDED, crowd, 100.0195) == pytest.approx(0.0005)
        assert rest(self.CROWDED, Crowd(100.0, 9, 0, 100.02), 100.02) == 0

    @pytest.mark.parametrize("coming", [0, 3])
    def test_enough_requests_wait_for_nobody(self, coming: int) -> None:
        assert rest(self.CROWDED, Crowd(100.0, ENOUGH, coming, 100.0), 100.0) == 0
        assert rest(self.CROWDED, Crowd(100.0, ENOUGH - 1, coming, 100.0), 100.0) > 0

    def test_the_operator_s_interval_holds_for_any_number(self) -> None:
        pace = Pace(earliest=101.0, patience=0.02)
        assert rest(pace, Crowd(100.0, 1, 0, 100.0), 100.0) == pytest.approx(1.0)
        assert rest(pace, Crowd(100.0, ENOUGH, 2, 100.0), 100.5) == pytest.approx(0.5)
        assert rest(pace, Crowd(100.0, 1, 0, 100.0), 101.0) == 0


def test_a_request_that_comes_alone_waits_for_nobody(log: Log, batches: Batches) -> None:
    patient(batches).start()
    assert batches.submit([], None).result(5) == Receipt((), 1)
    assert log.tidied.wait(5)
    assert batches.stop(5)
    assert log.sizes == [1]


def test_a_request_that_was_expected_itself_waits_for_nobody_either(log: Log, batches: Batches) -> None:
    patient(batches).start()
    with batches.expecting() as expected:
        future = batches.submit([], None, expected)
        assert future.result(5) == Receipt((), 1)
    assert batches.stop(5)
    assert batches._coming == 0


def test_a_batch_waits_for_the_request_that_is_being_examined(log: Log, batches: Batches) -> None:
    patient(batches).start()
    with batches.expecting() as expected:
        first = batches.submit([], None)
        second = batches.submit([], None)
        third = batches.submit([], None, expected)
    assert [future.result(5).size for future in (first, second, third)] == [1, 1, 1]
    assert batches.stop(5)
    assert log.sizes == [3]


def test_a_batch_begins_when_the_expected_request_is_refused(log: Log, batches: Batches) -> None:
    patient(batches).start()
    with batches.expecting():
        future = batches.submit([], None)
        assert not future.done()
    assert future.result(5).size == 1  # and not only after the ten seconds
    assert batches.stop(5)
    assert log.sizes == [1]


def test_a_request_whose_examination_takes_too_long_is_left_behind(log: Log, batches: Batches) -> None:
    patient(batches, 0.05).start()
    with batches.expecting():
        assert batches.submit([], None).result(5).size == 1
    assert batches.stop(5)
    assert log.sizes == [1]


def test_what_comes_during_a_batch_goes_together(log: Log, batches: Batches) -> None:
    log.open.clear()
    batches.start()
    waiting = [batches.submit([], None)]
    assert log.begun.acquire(timeout=5)
    waiting += [batches.submit([], None) for _ in range(3)]
    assert batches.waiting == 3
    log.open.set()
    assert [future.result(5).size for future in waiting] == [1] * 4
    assert batches.stop(5)
    assert log.sizes == [1, 3]
    assert batches._pace.is_crowded


def test_a_full_batch_does_not_wait_for_those_that_come(log: Log) -> None:
    batches = patient(Batches(log, 2, 60))
    batches.start()
    candidates: list[Candidate] = [None, None, None]  # type: ignore[list-item]
    with batches.expecting():
        assert batches.submit(candidates, None).result(5).size == 1
    assert batches.stop(5)
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


def test_stopping_finishes_what_waits_without_waiting_for_what_comes(log: Log, batches: Batches) -> None:
    patient(batches).start()
    with batches.expecting():
        waiting = [batches.submit([], None) for _ in range(2)]
        assert batches.stop(5)
    assert [future.result(0).size for future in waiting] == [1, 1]


def test_when_the_database_fails_those_that_wait_get_the_same_error(log: Log, batches: Batches) -> None:
    log.open.clear()
    log.fault = RyeError("database-busy", "The database is locked.", None)
    batches.start()
    first = batches.submit([], None)
    assert log.begun.acquire(timeout=5)
    others = [batches.submit([], None) for _ in range(2)]
    log.open.set()
    assert [future.exception(5) for future in (first, *others)] == [log.fault] * 3
    log.fault = None
    assert batches.submit([], None).result(5).size == 1
    assert batches.stop(5)
    assert log.sizes == [1, 1]
