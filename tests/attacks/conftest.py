"""The runner of the attack suite, built once per process of the test run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attacks.simulation import AttackRunner


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackRunner]:
    found = AttackRunner(tmp_path_factory.mktemp("attacks"))
    yield found
    found.close()
