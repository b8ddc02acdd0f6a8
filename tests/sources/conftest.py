"""A git server on this machine, and a user with an empty home."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenes.person import Person
from tests.sources.git_server import GitServer, serving


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with serving(tmp_path / "served") as running:
        yield running


@pytest.fixture
def person(tmp_path: Path) -> Person:
    user = Person(tmp_path)
    user.write("rye.toml", '[project]\nname = "shop"\n')
    return user
