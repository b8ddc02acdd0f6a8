"""Names say what is in a thing: what a function gathers has its noun, and few classes share a name (house 4)."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from tests.house.trees import statements, trees

EMPTY_WORDS = ("found", "one", "known")
MOST_GATHERED, MOST_OF_ONE_NAME = 25, 2


def gathered(tree: ast.Module) -> Iterator[int]:
    """The lines where a variable that says nothing begins as an empty list, set or mapping, to be filled."""
    for node in statements(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id in EMPTY_WORDS and _is_empty(node.value):
                yield node.lineno


def _is_empty(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in ("list", "set", "dict") and not value.args
    return (isinstance(value, ast.List | ast.Set) and not value.elts) or (
        isinstance(value, ast.Dict) and not value.keys
    )


def test_what_a_function_gathers_has_its_noun() -> None:
    places = [f"{path}:{line}" for path, tree in trees(*EMPTY_WORDS).items() for line in gathered(tree)]
    assert len(places) <= MOST_GATHERED, "\n".join(places)


def test_what_is_gathered_is_seen() -> None:
    text = "found = []\none: set[int] = set()\nknown = {}\nfound = f()\nfound = [1]\nknown = dict(a)\nnames = []\n"
    assert list(gathered(ast.parse(text))) == [1, 2, 3]


def test_few_classes_share_a_name() -> None:
    names = [
        node.name for tree in trees("class ").values() for node in statements(tree) if isinstance(node, ast.ClassDef)
    ]
    assert {name: count for name, count in Counter(names).items() if count > MOST_OF_ONE_NAME} == {}
