"""One browser for each process of the test run. Without Chromium, every test here is skipped with a reason."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """``make test`` does not even import the browser driver."""
    left_out = "not browser" in str(config.getoption("markexpr"))
    return True if collection_path.suffix == ".py" and (left_out or find_spec("playwright") is None) else None


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from tests.browser import chromium  # imports Playwright

    if chromium.program() is None:
        pytest.skip(chromium.WHY)
    with chromium.browser() as started:
        yield started
