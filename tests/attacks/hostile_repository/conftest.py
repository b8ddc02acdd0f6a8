"""One upstream and one runner of attacks per process of the test run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attacks.hostile_repository.attacks import CloneAttackRunner


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory) -> CloneAttackRunner:
    return CloneAttackRunner(tmp_path_factory.mktemp("hostile-repository"))


@pytest.fixture(autouse=True)
def _clones_go_with_their_test(runner: CloneAttackRunner) -> Iterator[None]:
    with runner.removed():
        yield
