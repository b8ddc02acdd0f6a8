"""A test whose judge cannot be had here is skipped, with the reason."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.outside.judges import HERE, Missing, record

_BY_TESTS = {judge.played_by.rpartition("/")[2]: name for name, judge in HERE.items() if name == "oidc-provider"}
"""Judges whose cases are the tests of a file."""
_outcomes: dict[str, list[bool]] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    name = _BY_TESTS.get(report.fspath.rpartition("/")[2])
    if name is not None and report.when == "call" and not report.skipped:
        _outcomes.setdefault(name, []).append(report.passed)


def pytest_sessionfinish() -> None:
    for name, outcomes in _outcomes.items():
        record(name, len(outcomes), sum(outcomes))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    try:
        return (yield)
    except Missing as why:
        pytest.skip(f"{item.name}: {why}")
