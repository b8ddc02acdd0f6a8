"""The stage of the attack suite, built once per process of the test run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attacks.simulation import Stage


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    found = Stage(tmp_path_factory.mktemp("attacks"))
    yield found
    found.close()
