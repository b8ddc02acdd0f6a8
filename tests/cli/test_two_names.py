"""An installed file is recognized by its real path, whatever its folder is called (DESIGN 6.1)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import Program
from tests.scenes.directive_text import directive
from tests.workspace.installed import put

PLACE = "acme/directives/work/top.md"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    made = Program(tmp_path)
    made.write("rye.toml", "[project]\n")
    monkeypatch.setenv("RYE_DATA_DIR", made.environment["RYE_DATA_DIR"])
    put(made.folder, "directive", "acme/work/top", PLACE, directive("work/top", permissions="").encode())
    return made


def inside(program: Program) -> Path:
    """``.ai`` is a link to another folder of the project."""
    program.path(".ai").rename(program.path("store"))
    program.path(".ai").symlink_to("store")
    return program.path(f"store/packages/{PLACE}")


def outside(program: Program) -> Path:
    """``.ai`` is a link to a folder elsewhere."""
    store = program.home / "store"
    program.path(".ai").rename(store)
    program.path(".ai").symlink_to(store)
    return store / "packages" / PLACE


def packages(program: Program) -> Path:
    """A link further down."""
    program.path(".ai/packages").rename(program.path("store"))
    program.path(".ai/packages").symlink_to("../store")
    return program.path(f"store/{PLACE}")


def whole(program: Program) -> Path:
    """A link to the project itself, with commands run inside it."""
    other = program.home / "other"
    other.symlink_to(program.folder)
    return other / ".ai/packages" / PLACE


@pytest.mark.parametrize("layout", [inside, outside, packages, whole])
def test_tampered_text_is_refused_by_both_names(program: Program, layout: Callable[[Program], Path]) -> None:
    other = layout(program)
    names = ("acme/work/top", f".ai/packages/{PLACE}", str(other), os.path.relpath(other, program.folder))
    for name in names:
        program.ok("render", name)
    other.write_text(other.read_text().replace("Do the work", "Do other work"))
    for name in names:
        for command in (("render",), ("show",), ("permissions", "show"), ("hooks", "list")):
            assert program.run(*command, name, "--json").error["code"] == "modified-item", (command, name)


def test_a_file_of_the_author_s_own_stays_one(program: Program) -> None:
    """A file next to the installed ones, behind the same link."""
    inside(program)
    own = program.write("store/directives/work/mine.md", directive("work/mine"))
    assert "Do the work" in program.ok("render", str(own)).stdout
