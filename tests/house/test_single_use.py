"""A small module that only one other imports is rarely a thought of its own (house 2)."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = 80
MOST = 26


def test_few_small_modules_have_a_single_importer() -> None:
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text("utf-8")
        for package in ("rye", "registry_server")
        for path in (ROOT / package).rglob("*.py")
    }
    importers: dict[str, set[str]] = defaultdict(set)
    for name, source in modules.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and node.module:
                for imported in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    importers[imported].add(name)
    small = (name for name, source in modules.items() if source.count("\n") < LINES and not name.endswith("__init__"))
    single = sorted(name for name in small if len(importers[name] - {name}) == 1)
    assert len(single) <= MOST, single
