"""The texts and syntax trees of all modules, read and parsed once for all tests of a process, and the statements of a tree."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def sources() -> dict[str, str]:
    """The texts by path, sorted: ``rye`` first, then ``registry_server``."""
    paths = (path for room in ("rye", "registry_server") for path in sorted((ROOT / room).rglob("*.py")))
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}


def trees(*words: str) -> dict[str, ast.Module]:
    """The trees by path, in the same order: of the modules that have one of these words, or of all."""
    return {path: tree(text) for path, text in sources().items() if not words or any(word in text for word in words)}


@cache
def tree(text: str) -> ast.Module:
    """The tree of a module's text, for all tests of a process: none of them changes it."""
    with uncollected():
        return ast.parse(text)


@cache
def nodes(module: ast.Module) -> tuple[ast.AST, ...]:
    """All nodes of such a tree, which :func:`ast.walk` takes as long to find as the parser to make."""
    with uncollected():
        return tuple(ast.walk(module))


@contextmanager
def uncollected() -> Iterator[None]:
    """What is made in it stays: a million nodes, among which looking for garbage would take longer than parsing."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if before:
            gc.enable()


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
