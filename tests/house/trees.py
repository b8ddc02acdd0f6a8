"""The syntax trees of every module of the project, parsed once for all tests of a process that read them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def trees() -> dict[str, ast.Module]:
    """The trees by path, sorted: ``rye`` first, then ``registry_server``."""
    paths = (path for room in ("rye", "registry_server") for path in sorted((ROOT / room).rglob("*.py")))
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_bytes()) for path in paths}
