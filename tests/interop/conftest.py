"""Fixtures of the tests of other programs' protocols."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.unchecked_registry import UncheckedRegistry


@pytest.fixture
def local(tmp_path: Path) -> Iterator[UncheckedRegistry]:
    with UncheckedRegistry(tmp_path / "data") as made:
        yield made
