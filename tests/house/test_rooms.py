"""The order of the rooms: imports only point down, also inside functions (``rye/__init__.py`` lists the rooms) (house 2)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Set
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import registry_server
import rye
from rye.storage.verdicts import FACES
from tests.house.trees import WITH_STATEMENTS, listed, statements, tree

ROOT = Path(__file__).parents[2]


def floors_of(package: ModuleType) -> list[list[str]]:
    """The rooms in the list of a package's docstring, from the ground up; rooms in one line share a floor."""
    _, *lines = (package.__doc__ or "").split("\n* ")
    return [re.findall(rf":mod:`{package.__name__}\.(\w+)`", line) for line in lines]


FLOOR = {room: number for number, rooms in enumerate(floors_of(rye)) for room in rooms}
SERVER_FLOOR = {room: number for number, rooms in enumerate(floors_of(registry_server)) for room in rooms}
EXTRA = {("cli", "registry_server")}
"""``rye registry serve`` and ``rye demo`` start the server's program, where it is installed."""


def imports(path: Path) -> tuple[tuple[int, str], ...]:
    """Line and full name of every module of this project that the file imports, anywhere in it."""
    return _read(path.read_text("utf-8"))


@cache
def _import_statements(source: str) -> tuple[ast.stmt, ...]:
    """The statements in a file, anywhere in it, that import."""
    return tuple(node for node in statements(tree(source)) if isinstance(node, ast.Import | ast.ImportFrom))


@cache
def _read(source: str) -> tuple[tuple[int, str], ...]:
    """What :func:`imports` finds."""
    return tuple(_imports(source))


def _imports(source: str) -> Iterator[tuple[int, str]]:
    for node in _import_statements(source):
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


def test_verdicts_depend_on_the_code_of_all_rooms_up_to_the_use_cases() -> None:
    assert set(FACES) == {room for room, floor in FLOOR.items() if floor > FLOOR["workspace"]} - {"__main__"}


LIBRARY = {room for room, floor in FLOOR.items() if floor <= FLOOR["registry"]}
"""What the server may use: the ground rooms, and what reads, signs, judges, renders and proves items."""


def test_the_server_uses_the_library_alone() -> None:
    """No file of it imports another room of ``rye``, nor does anything that it imports, directly or indirectly (house 2)."""
    modules = {**modules_of(ROOT / "rye"), **modules_of(ROOT / "registry_server")}
    modules |= {
        ".".join(path.parent.relative_to(ROOT).parts): path
        for package in ("rye", "registry_server")
        for path in (ROOT / package).rglob("__init__.py")
    }
    importers = {name: "" for name in modules if name.split(".")[0] == "registry_server"}
    pending, wrong = list(importers), []
    while pending:
        importer = pending.pop()
        for imported in _all_imports(modules[importer].read_text("utf-8")).intersection(modules):
            package, _, rest = imported.partition(".")
            if package == "rye" and rest and rest.split(".")[0] not in LIBRARY:
                wrong.append(f"{importer} imports {imported}; who imports it: {importers[importer] or 'the server'}")
            elif imported not in importers:
                importers[imported] = importer
                pending.append(imported)
    assert sorted(wrong) == []
    assert "rye.registry.protocol.merkle" in importers


@cache
def _all_imports(source: str) -> frozenset[str]:
    """The modules that a file imports, also in functions and for types only."""
    nodes = _import_statements(source)
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(modules)


def test_imports_inside_the_server_point_down() -> None:
    wrong = []
    for path in sorted((ROOT / "registry_server").rglob("*.py")):
        room = path.relative_to(ROOT / "registry_server").parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        assert room in SERVER_FLOOR, f"{path.relative_to(ROOT)}: {room} is on no floor"
        for line, name in imports(path):
            package, _, rest = name.partition(".")
            other = rest.split(".")[0]
            if package == "registry_server" and other != room and SERVER_FLOOR.get(other, 99) >= SERVER_FLOOR[room]:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert wrong == []


def modules_of(room: Path) -> dict[str, Path]:
    """The modules of a room by their full names. ``__init__`` files only collect, so they do not count."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in sorted(room.rglob("*.py"))
        if path.name != "__init__.py"
    }


def is_for_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def names_imported(node: ast.AST) -> Iterator[str]:
    """What is imported when the code runs, also in functions and however it is written."""
    if isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    fields = ("orelse",) if isinstance(node, ast.If) and is_for_type_checking(node) else WITH_STATEMENTS
    for child in (child for field in fields for child in listed(node, field)):
        yield from names_imported(child)


def in_circles(needs: Mapping[str, Set[str]]) -> list[list[str]]:
    """The modules that need each other, directly or indirectly: strongly connected components of more than one."""
    reached: dict[str, set[str]] = {}
    for name in needs:
        found: set[str] = set()
        waiting = [name]
        while waiting:
            for other in needs[waiting.pop()] - found:
                found.add(other)
                waiting.append(other)
        reached[name] = found
    circles = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in needs
        if name in reached[name]
    }
    return sorted(list(circle) for circle in circles)


def circles_of(room: Path) -> list[list[str]]:
    """The circles of imports among the modules of a room: at the top, in functions, and for types only."""
    modules = modules_of(room)
    return in_circles(
        {name: _all_imports(path.read_text("utf-8")).intersection(modules) - {name} for name, path in modules.items()}
    )


ROOMS = sorted(
    path for path in [*(ROOT / "rye").iterdir(), ROOT / "registry_server"] if (path / "__init__.py").is_file()
)


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.relative_to(ROOT).as_posix())
def test_modules_of_a_room_import_each_other_in_one_direction(room: Path) -> None:
    assert circles_of(room) == []


@pytest.mark.parametrize(("package", "floors"), [(rye, FLOOR), (registry_server, SERVER_FLOOR)])
def test_the_docstring_of_a_package_lists_each_room_once(package: ModuleType, floors: dict[str, int]) -> None:
    folder = ROOT / package.__name__
    there = [path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()]
    listed = [room for rooms in floors_of(package) for room in rooms]
    assert sorted(listed) == sorted(set(there) - {"__init__"})
    assert list(floors) == listed


def test_a_circle_is_seen_through_functions_and_types(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    room = tmp_path / "room"
    room.mkdir()
    (room / "a.py").write_text("from room.b import x\n")
    (room / "b.py").write_text("def f():\n    from room import c\n")
    (room / "c.py").write_text("import os\n")
    assert circles_of(room) == []
    for text in (
        "if TYPE_CHECKING:\n    from room.a import y\n",
        "if TYPE_CHECKING:\n    pass\nelse:\n    import room.a\n",
    ):
        (room / "c.py").write_text(text)
        assert circles_of(room) == [["room.a", "room.b", "room.c"]]
