"""What no request waits for: work in rounds goes on after any failure, and ends when it should."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from registry_server.api.rounds import Rounds
from rye.errors import RyeError


class Waits:
    """Stands in for the event that ends a thread: notes each pause, and ends after some."""

    def __init__(self, most: int) -> None:
        self.pauses: list[float | None] = []
        self._most = most
        self._done = threading.Event()

    def wait(self, seconds: float | None = None) -> bool:
        self.pauses.append(seconds)
        return len(self.pauses) > self._most

    def is_set(self) -> bool:
        return False


def pauses(work: Callable[[], int], rounds: int, most_seconds: float | None = 8.0) -> list[float | None]:
    """The pauses before each round, the first one included."""
    made = Rounds("test", work, 2.0, "a test", most_seconds)
    waits = Waits(rounds)
    made._ending = waits  # type: ignore[assignment]
    made.start()
    made._thread.join(10)
    assert not made.is_running
    return waits.pauses


def test_work_is_done_until_none_is_left_and_then_there_is_a_pause() -> None:
    left = [2, 1, 0, 1, 0]
    assert pauses(lambda: left.pop(0), 2) == [2.0, 2.0, 2.0]
    assert left == []


@pytest.mark.parametrize(("most", "expected"), [(8.0, [2.0, 4.0, 8.0, 8.0, 2.0]), (None, [2.0] * 5)])
def test_after_failures_it_pauses_longer_and_after_a_success_as_before(
    most: float | None, expected: list[float]
) -> None:
    errors = iter([RyeError("busy", "No.", None)] * 3)

    def work() -> int:
        for error in errors:
            raise error
        return 0

    assert pauses(work, 4, most) == expected


def test_a_bug_is_logged_and_does_not_end_it(caplog: pytest.LogCaptureFixture) -> None:
    outcomes = [ZeroDivisionError("a bug"), None]

    def work() -> int:
        outcome = outcomes.pop(0)
        if outcome is not None:
            raise outcome
        return 0

    assert pauses(work, 2) == [2.0, 8.0, 2.0]
    assert "a test failed" in caplog.text


def test_it_stops_while_it_waits() -> None:
    rounds = Rounds("test", lambda: 0, 3_600.0, "a test")
    rounds.stop(1.0)  # before it has begun
    rounds.start()
    rounds.stop(10.0)
    assert rounds.is_ending
    assert not rounds.is_running
