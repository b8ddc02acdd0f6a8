"""Consent has one room: nothing else tells sorts apart in rye.lock, one function asks, and one place remembers (house 2)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def sources(*folders: str) -> dict[str, str]:
    return {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


def names(source: str) -> set[str]:
    """The attributes, arguments and variables of a module that name an approval's sort."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        for field in ("attr", "id", "arg", "name"):
            name = getattr(node, field, None)
            if isinstance(name, str) and name.startswith("approved_"):
                found.add(name)
    return found


def test_approvals_by_sort_are_named_only_where_rye_lock_is_read_and_written_and_in_the_room() -> None:
    elsewhere = {
        file: named
        for file, source in sources("rye", "registry_server", "tests").items()
        if "approved_" in source
        and not file.startswith(("rye/consent/", "rye/project/lock"))
        and (named := names(source) - {name for name in names(source) if name.startswith("approved_by")})
    }
    assert elsewhere == {}


def test_the_room_has_at_most_ten_files() -> None:
    assert len(list((ROOT / "rye/consent").glob("*.py"))) <= 10


@pytest.mark.parametrize("called", ["Proposal", "Memory"])
def test_one_module_asks_and_remembers(called: str) -> None:
    """A face is shown what :func:`rye.workspace.trusting.acceptance.ask` makes, and the file is written through one value."""
    makes = {
        file
        for file, source in sources("rye/workspace", "rye/deployment", "rye/runtime", "rye/mcp", "rye/cli").items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == called
    }
    assert makes == {"rye/workspace/trusting/acceptance.py"}


def functions(file: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_the_function_that_installs_is_short_and_hands_one_agreement_on() -> None:
    steps = functions("rye/workspace/installing/install_steps.py")
    chosen, switch = steps["install_chosen"], steps["_switch"]
    assert chosen.end_lineno is not None
    assert chosen.end_lineno - chosen.lineno < 35
    given = [argument.arg for argument in switch.args.args]
    assert given == ["session", "sources", "prepared", "agreed"]
