"""What has many parts is made by their names: values of seven and more fields, calls with ten and more arguments (house 4)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.house.trees import nodes, statements, trees

FIELDS, ARGUMENTS = 7, 10
_TABLES = ("Table", "Column", "Index", "create_table")
"""SQLAlchemy's: a table is a list of columns, which have names of their own."""


def positional_values(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of each struct and dataclass of many fields that can be made by position."""
    for node in statements(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        fields = sum(isinstance(each, ast.AnnAssign) and "ClassVar" not in ast.dump(each) for each in node.body)
        made_by = [keyword.arg for keyword in node.keywords]
        decorators = [ast.unparse(each) for each in node.decorator_list]
        is_struct = any(ast.unparse(base).rpartition(".")[2] == "Struct" for base in node.bases)
        is_dataclass = any(each.startswith(("dataclass", "dataclasses.dataclass")) for each in decorators)
        named = "kw_only" in made_by or any("kw_only=True" in each for each in decorators)
        if fields >= FIELDS and (is_struct or is_dataclass) and not named:
            yield node.lineno, node.name


def long_calls(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and function of each call with many positional arguments."""
    for node in nodes(tree):
        if isinstance(node, ast.Call) and len(node.args) >= ARGUMENTS:
            name = ast.unparse(node.func)
            if name.rpartition(".")[2] not in _TABLES:
                yield node.lineno, name


def test_values_of_many_fields_are_made_by_name() -> None:
    assert [
        f"{path}:{line} {name}" for path, tree in trees("class ").items() for line, name in positional_values(tree)
    ] == []


def test_no_call_has_many_positional_arguments() -> None:
    assert [f"{path}:{line} {name}" for path, tree in trees().items() for line, name in long_calls(tree)] == []


def test_the_search_sees_both() -> None:
    fields = "\n".join(f"    a{number}: int" for number in range(FIELDS))
    text = f"class A(Struct):\n{fields}\n@dataclass\nclass B:\n{fields}\nclass C(Struct, kw_only=True):\n{fields}\n"
    assert [name for _, name in positional_values(ast.parse(text))] == ["A", "B"]
    calls = "f({0})\nsa.Table({0})\nTable({0})".format(", ".join("x" * ARGUMENTS))
    assert [name for _, name in long_calls(ast.parse(calls))] == ["f"]
