"""Which mutants remove or weaken a check: something that can refuse what the rest of the function would accept.

A check is the condition of an ``if`` whose body raises or returns, an expression that a function of ``bool`` returns, a
``raise``, and a call whose result nobody uses (``_demand(…)``), because all that it can do is refuse.
"""

from __future__ import annotations

import ast

from tests.mutation.operators import GONE, Mutant


def checks(tree: ast.Module) -> frozenset[int]:
    """The ids of all nodes of a tree that belong to a check."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise | ast.Return):
            found |= {id(part) for part in ast.walk(node.test)}
        elif isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
            found.add(id(node))
        elif isinstance(node, ast.FunctionDef) and isinstance(node.returns, ast.Name) and node.returns.id == "bool":
            returned = (part.value for part in ast.walk(node) if isinstance(part, ast.Return) and part.value)
            found |= {id(part) for value in returned for part in ast.walk(value)}
    return frozenset(found)


def is_check(mutant: Mutant, nodes: frozenset[int]) -> bool:
    """Whether the mutant changes or removes one of these nodes (:func:`checks` of the same tree)."""
    parent, field, index, new = mutant.edit
    old = getattr(parent, field)
    if index is not None:
        old = old[index]
    return (
        id(old) in nodes
        or (new is GONE and id(parent) in nodes)
        or (not isinstance(old, ast.AST) and id(parent) in nodes)
    )
