"""No pattern has a possessive repeat that old interpreters match wrongly.

CPython before 3.11.5 backtracks into such a group (gh-106052): ``(?:ab?c)*+`` matches all of ``abca``, and some patterns never
finish. An atomic group around a plain repeat, ``(?>(?:ab?c)*)``, means the same and works in every version.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]

import pytest

from tests.scenes.effort import rest_thorough

ROOT = Path(__file__).parents[2]
OF_A_GROUP = re.compile(r"\)(?:[*+?]|\{[0-9]*,?[0-9]*\})\+")
"""Matches every possessive repeat of a group, and some texts that are not patterns."""
POSSESSIVE = re.compile(r"[*+?}](?:[\"'rbfRBF\s])*\+")
"""In the source of every module with a possessive repeat, whether or not its pattern is put together from several literals."""
UNKNOWN = "(?:x|yy*)"
"""Placeholder for an expression in an f-string: the worst case."""
SINGLE = (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN)
"""Operations that match one character."""
NO_PATTERNS = ("!$%&'()*+,/:;=?@[]~",)
"""Texts that only look like one: the characters of an address that are not escaped."""

INSTALLED = frozenset((".venv", "node_modules"))
"""Folders of programs that other tests installed."""


def steps(tree: object) -> Iterator[tuple[object, object]]:
    """Every operation of a parsed pattern with its argument, including nested ones."""
    if isinstance(tree, parser.SubPattern):
        for operation, argument in tree:
            yield operation, argument
            yield from steps(argument)
    elif isinstance(tree, tuple | list):
        for part in tree:
            yield from steps(part)


def certain(body: object) -> bool:
    """Whether a repeated group has only characters, anchors and possessive repeats of one character.

    Old interpreters handle only those correctly: capturing groups, look-aheads and nested repeated groups also fail.
    """
    return all(
        operation in (*SINGLE, codes.AT)
        or (operation is codes.SUBPATTERN and argument[0] is None)  # type: ignore[index]
        or (operation is codes.POSSESSIVE_REPEAT and len(argument[2]) == 1 and argument[2][0][0] in SINGLE)  # type: ignore[index]
        for operation, argument in steps(body)
    )


def dangerous(pattern: str) -> bool:
    """Whether old interpreters can match the pattern wrongly, or it looks so and cannot be parsed on its own."""
    if not OF_A_GROUP.search(pattern):
        return False
    try:
        tree = parser.parse(pattern)
    except re.error:
        return True
    return any(op is codes.POSSESSIVE_REPEAT and not certain(argument[2]) for op, argument in steps(tree))  # type: ignore[index]


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The string literals of a module, each with its line; f-strings are whole."""
    if isinstance(tree, ast.JoinedStr):
        parts = (str(part.value) if isinstance(part, ast.Constant) else UNKNOWN for part in tree.values)
        yield tree.lineno, "".join(parts)
    elif isinstance(tree, ast.Constant):
        if isinstance(tree.value, bytes):
            yield tree.lineno, tree.value.decode("latin-1")
        elif isinstance(tree.value, str):
            yield tree.lineno, tree.value
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(tree, ast.JoinedStr) and isinstance(child, ast.Constant)):
            yield from texts(child)


@pytest.mark.slow
@pytest.mark.parametrize("folder", rest_thorough(2, ["rye", "registry_server", "benchmarks", "tests"]))
def test_no_pattern_repeats_a_group_possessively_that_old_interpreters_get_wrong(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path != Path(__file__) and INSTALLED.isdisjoint(path.relative_to(ROOT).parts)
        if POSSESSIVE.search(source := path.read_text("utf-8"))
        for line, text in texts(ast.parse(source))
        if text not in NO_PATTERNS and dangerous(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:ab?c)*+",
        r"(?:aa|b)++",
        r"(?:a+?b)?+",
        r"(?:a*b){1,9}+",
        r"(?:(?:ab)*+c)*+",
        r"(?:(a)b)*+",
        r"(?:(?>aa|b)c)*+",
        r"(?:(?!ab)c)*+",
        rf"(?:{UNKNOWN})*+",
        r"|a)*+",
    ],
)
def test_the_dangerous_forms_are_seen(pattern: str) -> None:
    assert dangerous(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"[^a]*+",
        r"(?:\\.[^\"\\]*+)*+",
        r"(?>(?:a|b)*)",
        r"(?:^a[bc])*+",
        r"(?:a|b)*",
        r"a(?:[ab]c)?+",
        r"a\)*+",
    ],
)
def test_the_others_are_left_alone(pattern: str) -> None:
    assert not dangerous(pattern)


def test_f_strings_are_read_whole() -> None:
    tree = ast.parse('pattern = rf"(?:{NAME})*+" r"x"\nother = rf"(?>(?:{NAME})*)"\n')
    assert [dangerous(text) for _, text in texts(tree)] == [True, False]
