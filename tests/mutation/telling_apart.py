"""Which cases could tell a mutant from the program: those in which its condition ever decides otherwise, or its statement runs.

A module is compiled once with a probe for each mutant. Where the mutant changes the condition of an ``if`` or a returned value,
the probe evaluates both; a case in which they never differ runs the same program, so it need not run the mutant. Where it removes
a statement, a case can notice only if it runs the statement; most likely if the statement raises. Conditions that bind names
are treated like statements. Evaluating a condition twice must change nothing: the cases must pass with the probes, too.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.mutation.operators import Mutant, apply

_PROBE, _RUNS, _RAISES = "__rye_mutation_probe__", "__rye_mutation_runs__", "__rye_mutation_raises__"
_BINDS = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
Key = int
"""A mutant's place in the list of all mutants of a run."""


@dataclass
class Seen:
    """What the probes saw, by mutant: the numbers of the cases. Before the first case, the number is -1: modules are imported."""

    case: int = -1
    differs: dict[Key, set[int]] = field(default_factory=dict)
    """The condition decided otherwise, or the statement raised."""
    runs: dict[Key, set[int]] = field(default_factory=dict)

    def install(self) -> None:
        """Make the probes of instrumented modules report here."""
        for name, function in ((_PROBE, self._probe), (_RUNS, self._run), (_RAISES, self._raised)):
            setattr(builtins, name, function)

    def _probe(self, is_condition: bool, original: Callable[[], Any], *others: Any) -> Any:
        keys, changed = others[::2], others[1::2]
        try:
            value = original()
        except BaseException:
            self._raised(*keys)
            raise
        for key, other in zip(keys, changed, strict=True):
            cases = self.differs.setdefault(key, set())
            if self.case not in cases and not _same(other, value, is_condition):
                cases.add(self.case)
            if self.case < 0:
                self.runs.setdefault(key, set()).add(self.case)
        return value

    def _run(self, *keys: Key) -> None:
        for key in keys:
            self.runs.setdefault(key, set()).add(self.case)

    def _raised(self, *keys: Key) -> None:
        for key in keys:
            self.differs.setdefault(key, set()).add(self.case)


def _same(other: Callable[[], Any], value: Any, is_condition: bool) -> bool:
    try:
        found = other()
        return bool(found) is bool(value) if is_condition else type(found) is type(value) and bool(found == value)
    except Exception:
        return False


def instrument(tree: ast.Module, numbered: Iterable[tuple[Key, Mutant]]) -> None:
    """Put the probes of these mutants into their tree, in place. It is of no use for anything else afterwards."""
    parents = {
        id(child): (node, name) for node in ast.walk(tree) for name, child in _children(node)
    }  # fmt: skip
    conditions: dict[int, tuple[ast.AST, str, ast.expr, list[ast.expr]]] = {}
    statements: dict[int, list[Key]] = {}
    for key, mutant in numbered:
        statement, name, root = _root(mutant, parents)
        if root is None or any(isinstance(node, _BINDS) or _is_super(node) for node in ast.walk(root)):
            statements.setdefault(id(statement), []).append(key)
            continue
        undo = apply(mutant.edit)
        changed = copy.deepcopy(getattr(statement, name) or ast.Constant(None))
        undo()
        found = conditions.setdefault(id(root), (statement, name, root, []))
        found[3].extend((ast.Constant(key), _function(changed)))
    for statement, name, root, others in conditions.values():
        is_condition = ast.Constant(not isinstance(statement, ast.Return))
        setattr(statement, name, _call(_PROBE, [is_condition, _function(root), *others], root))
    for node in list(ast.walk(tree)):
        for _, values in ast.iter_fields(node):
            if isinstance(values, list):
                values[:] = [new for value in values for new in _marked(value, statements.get(id(value)))]
    ast.fix_missing_locations(tree)


def _children(node: ast.AST) -> Iterable[tuple[str, ast.AST]]:
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield name, child


def _root(mutant: Mutant, parents: dict[int, tuple[ast.AST, str]]) -> tuple[ast.AST, str, ast.expr | None]:
    """The statement that the mutant changes, and the condition or returned value in it, if that is all it changes."""
    parent, name, index, _ = mutant.edit
    old = getattr(parent, name)
    old = old if index is None else old[index]
    if isinstance(old, ast.stmt):
        return old, "", None
    node, above = (old, parent) if isinstance(parent, ast.stmt) else (parent, parents[id(parent)][0])
    while not isinstance(above, ast.stmt):
        node, (above, _) = above, parents[id(above)]
    root = node if isinstance(above, ast.If | ast.Return) and isinstance(node, ast.expr) else None
    return above, "test" if isinstance(above, ast.If) else "value", root


def _is_super(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("super", "__class__")


def _function(body: ast.expr) -> ast.Lambda:
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(nothing, body)


def _call(name: str, arguments: Sequence[ast.expr], where: ast.AST) -> ast.Call:
    return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), list(arguments), []), where)


def _marked(value: Any, keys: list[Key] | None) -> list[Any]:
    """A statement with its probes around it."""
    if keys is None:
        return [value]
    runs, raises = (
        ast.copy_location(ast.Expr(_call(name, [ast.Constant(key) for key in keys], value)), value)
        for name in (_RUNS, _RAISES)
    )
    if not isinstance(value, ast.Expr | ast.Raise):
        return [runs, value]
    again = ast.Raise(exc=None, cause=None)
    handler = ast.ExceptHandler(ast.Name("BaseException", ast.Load()), None, [raises, again])
    return [runs, ast.copy_location(ast.Try([value], [handler], [], []), value)]
