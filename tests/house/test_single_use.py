"""A small module that only one other imports is rarely a thought of its own (house 2)."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.house.trees import sources, statements, trees

LINES = 80
MOST = 26


def test_few_small_modules_have_a_single_importer() -> None:
    modules = {path: path.removesuffix(".py").replace("/", ".") for path in sources()}
    importers: dict[str, set[str]] = defaultdict(set)
    for path, tree in trees().items():
        for node in statements(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for imported in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    importers[imported].add(modules[path])
    short = (modules[path] for path, source in sources().items() if source.count("\n") < LINES)
    small = (name for name in short if not name.endswith("__init__"))
    single = sorted(name for name in small if len(importers[name] - {name}) == 1)
    assert len(single) <= MOST, single
