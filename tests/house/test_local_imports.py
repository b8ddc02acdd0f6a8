"""Imports belong at the top of a file. An import inside a function has a reason in start-up time, so there are few."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.house.trees import nodes, tree

ROOT = Path(__file__).parents[2]
MOST_IN_COMMANDS = 150
"""In ``rye/cli``: where one command of a file would otherwise pay for another's heavy import."""
MOST_ELSEWHERE = 31
"""In all other rooms and in the server."""
_INSIDE = re.compile(r"^(?!import\b|from\b).*\bimport\b", re.MULTILINE)
"""The word on a line that does not begin with it: a module without such a line need not be parsed."""


def local_imports(source: str) -> list[int]:
    """The lines of the import statements inside functions, methods and closures included, without duplicates."""
    if not _INSIDE.search(source):
        return []
    places = {
        (node.lineno, node.col_offset)
        for function in nodes(tree(source))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    return [line for line, _ in sorted(places)]


@cache
def found() -> dict[str, list[int]]:
    """Lines by file, for every file that has any."""
    files = (path for room in ("rye", "registry_server") for path in sorted((ROOT / room).rglob("*.py")))
    lines = {path.relative_to(ROOT).as_posix(): local_imports(path.read_text("utf-8")) for path in files}
    return {path: each for path, each in lines.items() if each}


@pytest.mark.slow
def test_commands_import_little_inside_functions() -> None:
    here = {path: lines for path, lines in found().items() if path.startswith("rye/cli/")}
    assert sum(map(len, here.values())) <= MOST_IN_COMMANDS, here


@pytest.mark.slow
def test_everything_else_imports_next_to_nothing_inside_functions() -> None:
    here = {path: lines for path, lines in found().items() if not path.startswith("rye/cli/")}
    assert sum(map(len, here.values())) <= MOST_ELSEWHERE, here


def test_each_import_counts_once_and_those_at_the_top_do_not() -> None:
    source = """
import os
if os.name == "nt":
    import ctypes
def f():
    import json; import re
    async def g():
        from math import pi
class C:
    import abc
    def m(self):
        import sys
"""
    assert local_imports(source) == [6, 6, 8, 12]
