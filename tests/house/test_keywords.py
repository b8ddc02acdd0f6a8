"""What has many values names them: records of seven fields and more, and calls with ten arguments and more (house 4)."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIELDS = 7
ARGUMENTS = 10
BY_COLUMN = {"Table", "op.create_table", "_part"}
"""SQLAlchemy's tables, and a row of columns: their columns have names of their own."""


def files() -> Iterator[Path]:
    """The server's files, except those of the pages."""
    folder = ROOT / "registry_server"
    return (path for path in sorted(folder.rglob("*.py")) if path.relative_to(folder).parts[0] != "pages")


def is_record(node: ast.ClassDef) -> bool:
    written = [ast.unparse(part) for part in (*node.bases, *node.decorator_list)]
    return any(part == "Struct" or part.startswith("dataclass") for part in written)


def positional_fields(node: ast.ClassDef) -> int:
    """How many values the constructor of a record takes without their names."""
    options = " ".join(ast.unparse(part) for part in (*node.keywords, *node.decorator_list))
    if "kw_only=True" in options:
        return 0
    count = 0
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign):
            annotation = ast.unparse(statement.annotation)
            if annotation == "KW_ONLY":
                break
            count += not annotation.startswith("ClassVar")
    return count


def unnamed(source: str) -> list[str]:
    """The records and calls in a file whose values should be named."""
    findings = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and is_record(node) and positional_fields(node) >= FIELDS:
            findings.append(f"{node.lineno}: {node.name} takes {positional_fields(node)} values without names")
        if isinstance(node, ast.Call) and len(node.args) >= ARGUMENTS and ast.unparse(node.func) not in BY_COLUMN:
            findings.append(f"{node.lineno}: {ast.unparse(node.func)} is given {len(node.args)} values without names")
    return findings


def test_the_server_names_its_values() -> None:
    assert [f"{path.relative_to(ROOT)}:{each}" for path in files() for each in unnamed(path.read_text("utf-8"))] == []


def test_no_class_of_the_server_has_a_name_that_two_others_have() -> None:
    named: dict[str, list[Path]] = defaultdict(list)
    for package in ("rye", "registry_server"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.ClassDef):
                    named[node.name].append(path)
    here = set(files())
    assert {name for name, paths in named.items() if len(paths) > 2 and here.intersection(paths)} == set()


@pytest.mark.parametrize(
    ("head", "count"),
    [
        ("class A(Struct, frozen=True)", 1),
        ("class A(Struct, frozen=True, kw_only=True)", 0),
        ("@dataclass(slots=True)\nclass A", 1),
        ("@dataclass(kw_only=True)\nclass A", 0),
        ("class A", 0),
    ],
)
def test_a_record_is_seen(head: str, count: int) -> None:
    body = "\n".join(f"    field{number}: int" for number in range(FIELDS))
    assert len(unnamed(f"{head}:\n{body}\n")) == count
    assert unnamed(f"{head}:\n    _: KW_ONLY\n{body}\n") == []


def test_a_call_is_seen() -> None:
    values = ", ".join(map(str, range(ARGUMENTS)))
    assert len(unnamed(f"f({values})")) == 1
    assert unnamed(f"sa.x(Table({values}), f({values[3:]}))") == []
