"""One theatre per process of the test run."""

from __future__ import annotations

import pytest

from tests.attacks.hostile_repository.attacks import Theatre


@pytest.fixture(scope="session")
def theatre(tmp_path_factory: pytest.TempPathFactory) -> Theatre:
    return Theatre(tmp_path_factory.mktemp("hostile-repository"))
