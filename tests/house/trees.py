"""The syntax trees of every module, parsed once for all tests of a process that read them, and the statements of a tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def trees() -> dict[str, ast.Module]:
    """The trees by path, sorted: ``rye`` first, then ``registry_server``."""
    paths = (path for room in ("rye", "registry_server") for path in sorted((ROOT / room).rglob("*.py")))
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_bytes()) for path in paths}


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """A node and the statements in it, at any depth. No expression holds one, so none is searched."""
    yield node
    for child in (child for field in WITH_STATEMENTS for child in listed(node, field)):
        yield from statements(child)


WITH_STATEMENTS = ("body", "handlers", "orelse", "finalbody", "cases")
"""The fields of a node that hold statements, or what does."""


def listed(node: ast.AST, field: str) -> list[ast.AST]:
    """What a field of a node holds, if that is a list."""
    found = getattr(node, field, None)
    return found if isinstance(found, list) else []  # an expression may have one of these names: `a if b else c`
