"""There is only one way to read an item's content for use, and it checks (DESIGN 6.1). User interfaces cannot bypass it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.trees import nodes, tree

RYE = Path(__file__).parents[2] / "rye"
FACES = ("cli", "mcp", "deployment")
UNCHECKED = {
    "rye.project.item_file": {"load_item"},
    "rye.project.target": {"find_target"},
    "rye.project.spaces": {"find", "entries", "installed"},
    "rye.items.published": {"read_published"},
}
"""Names that read an item's file, or lead to one, without checking rye.lock."""


def taken(path: Path) -> Iterator[str]:
    """The unchecked names that a module imports, and ``.packages`` if it asks a project for that folder."""
    for node in nodes(tree(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = UNCHECKED.get(node.module, set())
            yield from (alias.name for alias in node.names if alias.name in names or (names and alias.name == "*"))
            for alias in node.names:
                if f"{node.module}.{alias.name}" in UNCHECKED:
                    yield f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in UNCHECKED)
        elif isinstance(node, ast.Attribute) and node.attr == "packages":
            yield ".packages"


def test_no_face_reads_an_item_s_file_by_itself() -> None:
    found = {
        (path.relative_to(RYE).as_posix(), name)
        for face in FACES
        for path in sorted((RYE / face).rglob("*.py"))
        for name in taken(path)
    }
    assert found == set()


def test_the_test_sees_each_way_round(tmp_path: Path) -> None:
    ways = {
        "from rye.project.item_file import load_item": "load_item",
        "from rye.project.item_file import *": "*",
        "def f():\n    from rye.project.target import find_target as look": "find_target",
        "import rye.project.spaces": "rye.project.spaces",
        "from rye.project import item_file": "rye.project.item_file",
        "def f(project):\n    return (project.packages / 'x').read_text()": ".packages",
    }
    for number, (source, name) in enumerate(ways.items()):
        module = tmp_path / f"m{number}.py"
        module.write_text(source)
        assert name in list(taken(module)), source


@pytest.mark.slow
def test_only_one_use_case_looks_an_item_up_unchecked() -> None:
    """``find_target`` has one caller, which checks its result."""
    callers = {
        path.relative_to(RYE).as_posix()
        for path in sorted(RYE.rglob("*.py"))
        if "find_target" in path.read_text("utf-8") and "find_target" in list(taken(path))
    }
    assert callers == {"workspace/items/effective_item.py"}
