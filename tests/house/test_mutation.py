"""The lists of ``make mutate`` name what is there: modules, tests and accepted survivors (house 5)."""

from __future__ import annotations

import ast

from tests.mutation.__main__ import HERE, listed_modules, listed_survivors
from tests.mutation.operators import mutants

ROOT = HERE.parents[1]


def test_every_module_and_every_test_is_there() -> None:
    missing = [
        path for module in listed_modules() for path in (module.path, *module.tests) if not (ROOT / path).exists()
    ]
    assert missing == []


def test_every_accepted_survivor_is_still_a_mutant() -> None:
    """One whose line changed would be reported as gone only after hours of mutating."""
    accepted = listed_survivors()
    modules = {row.module for row in accepted}
    assert modules <= {module.path for module in listed_modules()}
    made = set()
    for module in modules:
        text = (ROOT / module).read_text("utf-8")
        made |= {(module, *mutant.key) for mutant in mutants(ast.parse(text), text)}
    assert [row.key for row in accepted if row.key not in made] == []
