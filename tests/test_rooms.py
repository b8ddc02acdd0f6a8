"""The order of the rooms: imports point down only, imports inside functions included (``rye/__init__.py`` lists the rooms)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FLOORS = (
    ("errors", "limits"),
    ("storage",),
    ("text",),
    ("resolution",),
    ("items",),
    ("signing", "permissions"),
    ("rendering",),
    ("project",),
    ("registry",),
    ("publishing", "customization"),
    ("installation",),
    ("workspace",),
    ("mcp", "deployment"),
    ("cli",),
    ("__main__",),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
EXTRA = {("cli", "registry_server")}
"""``rye registry serve`` and ``rye demo`` start the server's program, where it is installed."""


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of every module of this project that the file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [f"rye.{alias.name}" for alias in node.names] if node.module == "rye" else [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.split(".")[0] in ("rye", "registry_server"))


def test_imports_point_down() -> None:
    wrong = []
    for path in sorted((ROOT / "rye").rglob("*.py")):
        room = path.relative_to(ROOT / "rye").parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        assert room in FLOOR, f"{path.relative_to(ROOT)}: {room} is on no floor"
        for line, name in imports(path):
            package, _, rest = name.partition(".")
            other = rest.split(".")[0]
            if package == "registry_server":
                allowed = (room, package) in EXTRA
            else:
                allowed = other in ("", "__version__", room) or FLOOR[other] < FLOOR[room]
            if not allowed:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert wrong == []


def test_the_server_stands_beside_the_faces() -> None:
    """It uses the rooms below the workspace, and no face."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sorted((ROOT / "registry_server").rglob("*.py"))
        for line, name in imports(path)
        if name.startswith("rye.") and FLOOR.get(name.split(".")[1], 0) >= FLOOR["workspace"]
    ]
    assert wrong == []


def needed(path: Path, modules: dict[str, Path]) -> set[str]:
    """The modules of a room that a file imports, by whatever spelling, imports for type checking included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name in modules and modules[name] != path}


@pytest.mark.parametrize("room", ["resolution", "signing", "registry", "publishing"])
def test_modules_of_a_room_import_each_other_in_one_direction(room: str) -> None:
    """``__init__`` files only collect, so they do not count."""
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in sorted((ROOT / "rye" / room).rglob("*.py"))
        if path.name != "__init__.py"
    }
    needs = {name: needed(path, modules) for name, path in modules.items()}
    while free := [name for name, others in needs.items() if not others & needs.keys()]:
        for name in free:
            del needs[name]
    assert needs == {}, f"rye.{room}: there is a circle among {sorted(needs)}"
