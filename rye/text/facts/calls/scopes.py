"""Where a name means what a line assigned to it: in a function of Python, and in the examples of one language of a page.

``data`` in one function of a program is not ``data`` in another one, unless it is handed on; and a name of an example in Python
means nothing in an example in JavaScript. What does not parse, or is larger than is worth it, has no scopes: a name means the
same in all of it.
"""

from __future__ import annotations

import ast
import textwrap
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

from rye.limits import FACTS
from rye.text.facts.source import Source
from rye.text.facts.tables import word_set

_PYTHON: Final = word_set("py pyw python python3")
#: Languages whose examples share their names, by the labels of their blocks. Blocks with other labels can be any of them.
_FAMILIES: Final = tuple(
    map(
        word_set,
        (
            "py pyw python python3 ipython",
            "js mjs cjs jsx javascript ts mts cts tsx typescript node vue svelte html",
            "sh bash zsh shell ksh fish",
            "ps1 psm1 powershell pwsh",
            *(
                "rb ruby",
                "php",
                "pl perl",
                "go golang",
                "rs rust",
                "lua",
                "r",
                "julia jl",
                "swift",
                "dart",
                "c h cpp cc hpp",
            ),
            *("java kt kotlin scala groovy", "cs csharp vb fs fsharp", "ex exs elixir erl erlang"),
        ),
    )
)
_FAMILY_OF: Final = {label: number for number, labels in enumerate(_FAMILIES) for label in labels}


class Scope(NamedTuple):
    """A function: where its lines begin and end, its parameters without ``self``, and the names in it that are not its own."""

    first: int
    last: int
    name: str
    parameters: tuple[str, ...]
    others: frozenset[str]


class Scopes:
    """The functions of a file in Python, and of the examples in Python of a page."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def at(self, offset: int, name: str) -> Scope | None:
        """The innermost function around an offset, if ``name`` is its own."""
        at = bisect_right(self._scopes, offset, key=lambda scope: scope.first) - 1
        for scope in reversed(self._scopes[max(0, at - FACTS.nesting) : at + 1]):
            if offset < scope.last:
                return None if name in scope.others else scope
        return None

    @cached_property
    def by_name(self) -> dict[str, list[Scope]]:
        """The functions that have parameters, by name; of one name, ``FACTS.meanings``."""
        functions: dict[str, list[Scope]] = {}
        for scope in self._scopes:
            if scope.parameters and len(functions.get(scope.name, ())) < FACTS.meanings:
                functions.setdefault(scope.name, []).append(scope)
        return functions

    @cached_property
    def _scopes(self) -> list[Scope]:
        source = self._source
        blocks = source.blocks if source.markdown else [(source.language(0), 0, len(source.lines))]
        starts = [*source.text_starts, len(source.text) + 1]
        return [
            Scope(
                starts[begun + node.lineno - 1],
                starts[begun + (node.end_lineno or node.lineno)],
                node.name,
                _parameters(node.args),
                _others(node),
            )
            for language, begun, end in blocks
            if language in _PYTHON
            for node in _functions("\n".join(source.lines[begun:end]))
        ]


def _functions(text: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions of a program, in order; none if it does not parse."""
    if "def " not in text or len(text) > FACTS.parsed_characters:
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(textwrap.dedent(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return sorted(found, key=lambda node: node.lineno)


def _parameters(arguments: ast.arguments) -> tuple[str, ...]:
    every = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
    names = [argument.arg for argument in every if argument is not None]
    return tuple(names[names[:1] in (["self"], ["cls"]) :])


def _others(function: ast.AST) -> frozenset[str]:
    """The names that a function says are not its own."""
    return frozenset(
        name for node in ast.walk(function) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names
    )


def by_language(source: Source) -> Iterator[Source]:
    """A page once for each language that its examples have, without those in others; anything else as it is."""
    families = {_FAMILY_OF[block[0]] for block in source.blocks if block[0] in _FAMILY_OF} if source.markdown else set()
    if len(families) < 2:
        yield source
        return
    for family in sorted(families):
        lines = list(source.lines)
        for language, begun, end in source.blocks:
            if _FAMILY_OF.get(language, family) != family:
                lines[begun:end] = [""] * (end - begun)
        part = Source(source.path, "\n".join(lines), source.files)
        part.run_lines, part.original = source.run_lines, source.original
        part.kept["resolved"] = part.kept["spelled"] = part
        yield part
