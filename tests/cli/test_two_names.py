"""An installed file is recognized by its real path, whatever its folder is called (DESIGN 6.1)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scenes.directive_text import directive
from tests.scenes.installed import put
from tests.scenes.person import Person

PLACE = "acme/directives/work/top.md"


@pytest.fixture
def person(tmp_path: Path) -> Person:
    made = Person(tmp_path)
    made.write("rye.toml", "[project]\n")
    put(made.folders, made.folder, "directive", "acme/work/top", PLACE, directive("work/top", permissions="").encode())
    return made


def inside(person: Person) -> Path:
    """``.ai`` is a link to another folder of the project."""
    person.path(".ai").rename(person.path("store"))
    person.path(".ai").symlink_to("store")
    return person.path(f"store/packages/{PLACE}")


def outside(person: Person) -> Path:
    """``.ai`` is a link to a folder elsewhere, which the user allowed."""
    person.environment["RYE_SAFE_PROJECTS"] = str(person.folder)
    store = person.home / "store"
    person.path(".ai").rename(store)
    person.path(".ai").symlink_to(store)
    return store / "packages" / PLACE


def packages(person: Person) -> Path:
    """A link further down."""
    person.path(".ai/packages").rename(person.path("store"))
    person.path(".ai/packages").symlink_to("../store")
    return person.path(f"store/{PLACE}")


def whole(person: Person) -> Path:
    """A link to the project itself, with commands run inside it."""
    other = person.home / "other"
    other.symlink_to(person.folder)
    return other / ".ai/packages" / PLACE


@pytest.mark.parametrize("layout", [inside, outside, packages, whole])
def test_tampered_text_is_refused_by_both_names(person: Person, layout: Callable[[Person], Path]) -> None:
    other = layout(person)
    names = ("acme/work/top", f".ai/packages/{PLACE}", str(other), os.path.relpath(other, person.folder))
    for name in names:
        person.ok("render", name)
    other.write_text(other.read_text().replace("Do the work", "Do other work"))
    for name in names:
        for command in (("render",), ("show",), ("permissions", "show"), ("hooks", "list")):
            assert person.run(*command, name, "--json").error["code"] == "modified-item", (command, name)


def test_a_file_of_the_author_s_own_stays_one(person: Person) -> None:
    """A file next to the installed ones, behind the same link."""
    inside(person)
    own = person.write("store/directives/work/mine.md", directive("work/mine"))
    assert "Do the work" in person.ok("render", str(own)).stdout
