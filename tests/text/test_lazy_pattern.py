"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

from rye.text.lazy import lazy_pattern

ROOT = Path(__file__).parents[2]


def modules() -> list[str]:
    """Every module that defines such a pattern."""
    files = [path for path in sorted((ROOT / "rye").rglob("*.py")) if "= lazy_pattern(" in path.read_text("utf-8")]
    return [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files]


def names(module: str) -> list[str]:
    """The module's patterns."""
    tree = ast.parse((ROOT / module.replace(".", "/")).with_suffix(".py").read_text("utf-8"))
    return [
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Name) and getattr(node.value.func, "id", "") == "lazy_pattern"
    ]


@pytest.mark.parametrize("module", modules())
def test_every_pattern_compiles(module: str) -> None:
    """An invalid pattern would otherwise fail only when it is used."""
    loaded = importlib.import_module(module)
    for name in names(module):
        found = getattr(loaded, name)
        assert re.compile(found.pattern, found.flags & ~re.UNICODE)


def test_it_answers_as_the_compiled_pattern_does() -> None:
    ours, theirs = lazy_pattern(r"(a+)(\d)?", re.IGNORECASE), re.compile(r"(a+)(\d)?", re.IGNORECASE)
    for text in ("", "aA7", "b", "xaa1"):
        assert [m.groups() for m in ours.finditer(text)] == [m.groups() for m in theirs.finditer(text)]
        assert ours.sub("-", text) == theirs.sub("-", text)
    assert (ours.pattern, ours.flags, ours.groups) == (theirs.pattern, theirs.flags, theirs.groups)


def test_a_wrong_pattern_fails_when_it_is_used() -> None:
    wrong = lazy_pattern("(")
    with pytest.raises(re.error):
        wrong.match("a")
