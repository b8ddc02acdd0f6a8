"""A test whose judge cannot be had here is skipped, with the reason. All tests together have :data:`SECONDS`: one that is running
then fails, and so do those that have not begun."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from threading import Event

import pytest

from tests.outside.installing import Missing
from tests.outside.judges import HERE, record

SECONDS = int(os.environ.get("OUTSIDE_SECONDS", "300"))
OVER = f"The judges were not done in {SECONDS} s; `make test-outside OUTSIDE_SECONDS=N` gives them more."
_BY_TESTS = {judge.played_by.rpartition("/")[2]: name for name, judge in HERE.items() if name == "oidc-provider"}
"""Judges whose cases are the tests of a file."""
_outcomes: dict[str, list[bool]] = {}
_over, _calling = Event(), Event()


def pytest_sessionstart() -> None:
    def end(number: int, frame: object) -> None:
        _over.set()
        if _calling.is_set():  # fixtures are not interrupted: they end what they started
            pytest.fail(OVER, pytrace=False)

    signal.signal(signal.SIGALRM, end)
    signal.alarm(SECONDS)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    name = _BY_TESTS.get(report.fspath.rpartition("/")[2])
    if name is not None and report.when == "call" and not report.skipped:
        _outcomes.setdefault(name, []).append(report.passed)


def pytest_sessionfinish() -> None:
    signal.alarm(0)
    for name, outcomes in _outcomes.items():
        record(name, len(outcomes), sum(outcomes))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    if _over.is_set():
        pytest.fail(OVER, pytrace=False)
    with _skipped_without_judge():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    _calling.set()
    try:
        with _skipped_without_judge():
            return (yield)
    finally:
        _calling.clear()


@contextmanager
def _skipped_without_judge() -> Iterator[None]:
    try:
        yield
    except Missing as why:
        pytest.skip(str(why))
