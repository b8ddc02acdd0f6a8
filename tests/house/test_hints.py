"""No hint names a command that cannot be run (findings D6): checks commands in all texts of the source.

Hints that appear while tests run are collected by ``tests/conftest.py``, which fails the test whose error carries a
command that does not parse.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from registry_server.cli.program import COMMANDS as REGISTRY_COMMANDS
from rye.cli.completing.answer import stored_table
from rye.cli.examples import EXAMPLES
from rye.explaining.table import by_code, load
from tests.house.hints import commands_in, problem, unrecognized
from tests.house.trees import nodes, tree

ROOT = Path(__file__).parents[2]
SOURCES = [path for room in ("rye", "registry_server") for path in sorted((ROOT / room).rglob("*.py"))]


@cache
def texts(source: str) -> tuple[tuple[int, str], ...]:
    """Every text that names this program and is not a docstring, with its line; placeholders become a word in capitals."""
    return tuple((line, text) for line, text in _texts(source) if "rye" in text) if "rye" in source else ()


def _texts(source: str) -> Iterator[tuple[int, str]]:
    every = nodes(tree(source))
    skipped = {
        id(node.value)
        for node in every
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }
    skipped |= {id(part) for node in every if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in every:
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(
                    part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "WORD"
                    for part in node.values
                ),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.lineno, node.value


def commands_of_the_sources(program: str = "rye") -> Iterator[tuple[str, str]]:
    """Place and words of every command in the texts of the sources that name ``program``."""
    for path in SOURCES:
        source = path.read_text("utf-8")
        if program in source:
            yield from ((f"{path.relative_to(ROOT)}:{line}", command) for line, command in _commands_of(source))


@cache
def _commands_of(source: str) -> tuple[tuple[int, str], ...]:
    return tuple((line, command) for line, text in texts(source) for command in commands_in(text))


@pytest.mark.slow
def test_every_command_in_the_sources_can_be_run() -> None:
    wrong = {
        f"{place}: {command}": why
        for place, command in commands_of_the_sources()
        if (why := problem(command)) is not None
    }
    assert not wrong, "\n".join(f"{place}: {why}" for place, why in wrong.items())


@pytest.mark.slow
def test_every_command_of_the_registry_in_the_sources_is_recognized() -> None:
    """Otherwise a hint such as "rye-registry token lst shows them." would go unchecked."""
    named = [
        (f"{path.relative_to(ROOT)}:{line}", each)
        for path in SOURCES
        for line, text in texts(path.read_text("utf-8"))
        for each in unrecognized(text)
    ]
    assert [each for each in named if each[1].split()[1] in REGISTRY_COMMANDS] == []


def test_the_sources_and_the_table_of_codes_name_most_commands_of_the_registry() -> None:
    named = {
        command.split()[1]
        for _, command in commands_of_the_sources("rye-registry")
        if command.startswith("rye-registry ")
    }
    named |= {
        command.split()[1]
        for row in by_code(load()).values()
        for command in commands_in(row.text)
        if command.startswith("rye-registry ")
    }
    assert named >= REGISTRY_COMMANDS.keys() - {"audit-events", "export", "migrate"}


def test_every_command_has_an_example_and_each_parses() -> None:
    assert EXAMPLES.keys() == stored_table().keys()
    for name, lines in EXAMPLES.items():
        assert lines
        assert {line: why for line in lines if (why := problem(line, whole=True)) is not None} == {}
        assert all(f"{line} ".startswith(f"rye {name}".rstrip() + " ") for line in lines)


@pytest.mark.slow
def test_enough_is_found_to_mean_something() -> None:
    assert len({command for _, command in commands_of_the_sources()}) > 120


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("Run `rye-registry verify`, then `rye ci`.", ["rye-registry verify", "rye ci"]),
        ("Create one: rye-registry init --origin NAME", ["rye-registry init --origin NAME"]),
        ("Create one: rye-registry init.", ["rye-registry init"]),
        ("rye log prove ID\nrye log check-proof FILE", ["rye log prove ID", "rye log check-proof FILE"]),
        ("rye-registry token list", ["rye-registry token list"]),
        ("rye-registry token list shows them.", []),
        ("rye merge expects 2, not 3 files.", []),
        ("See https://example.org/rye-registry for more.", []),
    ],
)
def test_what_is_recognized_as_a_command(text: str, commands: list[str]) -> None:
    assert list(commands_in(text)) == commands


def test_a_command_that_is_not_recognized_is_reported() -> None:
    assert unrecognized("rye-registry token list shows them.") == ["rye-registry token"]
    assert unrecognized("`rye-registry token list` shows them.") == []


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("rye install", False),
        ("rye install acme/work/item@^1 --yes", False),
        ("rye -C DIR install", False),
        ("rye info [KIND:]ID", False),
        ("rye COMMAND --help", False),
        ("rye-registry serve --port 8000", False),
        ("rye ci --approve ID@1.0.0", True),
        ("rye instal", True),
        ("rye keys generat", True),
        ("rye lock acme/work/item", True),
        ("rye --no-such install", True),
        ("rye-registry server", True),
        ("rye install 'x", True),
    ],
)
def test_what_parses(command: str, wrong: bool) -> None:
    assert (problem(command) is not None) == wrong
    assert list(commands_in(f"Run `{command}` now.")) == [command]
