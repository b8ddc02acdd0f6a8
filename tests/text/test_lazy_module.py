"""A module that is declared at the top and imported on first use."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rye
from rye.text.lazy import lazy_module

NAMED = re.compile(r'lazy_module\("([a-z_.]+)"\)')


@pytest.mark.processes
def test_it_is_imported_on_first_use_and_not_before() -> None:
    code = """
import sys
from rye.text.lazy import lazy_module
wave = lazy_module("wave")
assert "wave" not in sys.modules
assert wave.Error is sys.modules["wave"].Error
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_what_is_replaced_in_the_module_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    module = lazy_module("wave")
    monkeypatch.setattr("wave.Error", 1)
    assert module.Error == 1


def test_a_missing_module_is_an_error_when_it_is_used() -> None:
    module = lazy_module("no_such_module_anywhere")
    with pytest.raises(ModuleNotFoundError):
        _ = module.name


def test_none_of_ours_hides_from_the_order_of_the_rooms() -> None:
    """One of ours is imported for the types as well, in the same file: there the tests of the rooms see it."""
    hidden = []
    for path in Path(rye.__file__).parent.rglob("*.py"):
        text = path.read_text("utf-8")
        named = [name for name in NAMED.findall(text) if name.split(".")[0] in ("rye", "registry_server")]
        if not named:
            continue
        froms = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
        seen = {f"{node.module}.{alias.name}" for node in froms for alias in node.names}
        hidden += [f"{path.name}: {name}" for name in named if name not in seen]
    assert hidden == []
