"""Fixtures that any test may ask for by name. A module that needs items in the registry defines its own ``acme``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rye.storage.home import Home
from tests.scenes.person import Person
from tests.scenes.registry import Registry


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A user without anything, whose folders are below the test's own."""
    return Home(
        tmp_path / "config",
        tmp_path / "data",
        tmp_path / "cache",
        own_items=tmp_path / "user",
        system_space=tmp_path / "system",
    )


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """A registry process, which starts once for the module."""
    with Registry(tmp_path_factory.mktemp("registry") / "data") as made:
        yield made


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    """The owner of the namespace ``acme``."""
    return registry.owner("acme")


@pytest.fixture
def user(registry: Registry, acme: Person) -> Person:
    """Someone with an empty project, who pinned the registry; acme's items are there."""
    return registry.user()
