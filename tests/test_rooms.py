"""The order of the rooms: imports point down only, imports inside functions included (``rye/__init__.py`` lists the rooms)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

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
