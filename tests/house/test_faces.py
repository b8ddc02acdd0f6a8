"""The command line keeps words and printing: below the workspace it imports only values, and it opens no files (house 1)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.house.test_rooms import FLOOR, ROOT, imports
from tests.house.trees import nodes, tree

CLI = ROOT / "rye" / "cli"
VALUES = frozenset(
    {
        "rye.consent.ask",
        "rye.consent.sorts",
        "rye.customization.doctor",
        "rye.describing",
        "rye.customization.merge",
        "rye.customization.places",
        "rye.installation.audit.choice",
        "rye.permissions.comparing",
        "rye.installation.completeness",
        "rye.installation.plan",
        "rye.items.agent.graph",
        "rye.items.agent_tools",
        "rye.items.consented",
        "rye.items.kinds",
        "rye.permissions.containment",
        "rye.permissions.risk",
        "rye.project.context",
        "rye.project.layout",
        "rye.project.user_config",
        "rye.registry.protocol.lines",
        "rye.registry.protocol.statements",
        "rye.registry.store.cache",
        "rye.rendering.formula_text",
        "rye.rendering.inputs",
        "rye.signing.key_store",
        "rye.signing.keys",
        "rye.text.diagnostics",
        "rye.text.facts",
    }
)
"""What the command line shows or gets: tiers, plans, findings, a lock's graph, the user's settings. A use case decides."""
OPEN_FILES = {
    "rye/cli/completing/answer.py": "the table of commands is a file of the program itself",
    "rye/cli/main.py": "the standard streams that its caller closed become the null device",
    "rye/cli/unchanged.py": "answers before anything is imported, from a file of its own",
    "rye/cli/registry/demo.py": "plays the people of its story: an author who writes files, an attacker who changes one",
}
"""Modules of the command line that open files, and why."""
_OPENING = frozenset(
    {"open", "fdopen", "read_text", "read_bytes", "write_text", "write_bytes", "mkdir", "makedirs", "unlink", "rename"}
    | {
        "replace_file",
        "scandir",
        "listdir",
        "iterdir",
        "rmtree",
        "copytree",
        "symlink",
        "symlink_to",
        "hardlink_to",
        "touch",
    }
)
_PRINTING = frozenset({"print", "click.echo", "click.secho", "sys.stdout.write", "sys.stderr.write"})
_LAST_NAMES = frozenset(name.rpartition(".")[2] for name in _PRINTING)


def opened(source: str) -> list[int]:
    """The lines on which a module opens, creates, lists or removes a file or folder, or uses a function that does."""

    if not any(name in source for name in _OPENING):
        return []

    def lines() -> Iterator[int]:
        for node in nodes(tree(source)):
            if isinstance(node, ast.Call):
                called = node.func
                name = (
                    called.attr
                    if isinstance(called, ast.Attribute)
                    else called.id
                    if isinstance(called, ast.Name)
                    else ""
                )
                if name in _OPENING:
                    yield node.lineno
            elif isinstance(node, ast.ImportFrom) and any(alias.name in _OPENING for alias in node.names):
                yield node.lineno

    return sorted(lines())


def test_the_command_line_reaches_below_the_workspace_for_values_only() -> None:
    found = {
        name
        for path in sorted(CLI.rglob("*.py"))
        for _, name in imports(path)
        if name.startswith("rye.") and FLOOR["limits"] < FLOOR.get(name.split(".")[1], 99) < FLOOR["workspace"]
    }
    beyond = {name for name in found if not any(name == value or name.startswith(f"{value}.") for value in VALUES)}
    assert beyond <= {"rye.storage.home", "rye.storage.places", "rye.extras"}, (
        "the user's folders, which the session makes of the environment; where rye/cli/unchanged.py keeps its file, told "
        "without an import of paths; what a missing package belongs to"
    )
    assert {value for value in VALUES if not any(name == value for name in found)} == set()


def test_the_values_are_few() -> None:
    assert len(VALUES) <= 28


def test_the_command_line_opens_no_files() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): lines
        for path in sorted(CLI.rglob("*.py"))
        if (lines := opened(path.read_text("utf-8")))
    }
    assert found.keys() == OPEN_FILES.keys(), found


def printed(source: str) -> list[int]:
    """The lines on which a module prints directly."""
    if not any(all(part in source for part in name.split(".")) for name in _PRINTING):
        return []
    return sorted(
        node.lineno
        for node in nodes(tree(source))
        if isinstance(node, ast.Call)
        and (node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")) in _LAST_NAMES
        and ast.unparse(node.func) in _PRINTING
    )


@pytest.mark.slow
def test_only_the_command_line_prints() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): lines
        for path in sorted((ROOT / "rye").rglob("*.py"))
        if CLI not in path.parents and (lines := printed(path.read_text("utf-8")))
    }
    assert found == {}


def test_printing_is_seen_in_every_spelling() -> None:
    source = "import sys, click\nprint('x')\nprint('x', file=sys.stderr)\nsys.stderr.write('x')\nclick.echo('x')\n"
    assert printed(source) == [2, 3, 4, 5]
    assert printed("tell('x')\nfile.write('x')\n'print(1)'\n") == []


def test_opening_is_seen_in_every_spelling() -> None:
    source = (
        "import os\nfrom rye.project.item_file import read_bytes\nPath('x').read_text()\nopen('x')\nos.open('x', 0)\n"
    )
    assert opened(source) == [2, 3, 4, 5]
    assert opened("session.path(file)\nconsole.document({})\n") == []
