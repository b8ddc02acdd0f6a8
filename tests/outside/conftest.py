"""A test whose judge cannot be had here is skipped, with the reason."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.outside.judges import Missing


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    try:
        return (yield)
    except Missing as why:
        pytest.skip(f"{item.name}: {why}")
