"""The lists of ``make mutate`` name what is there: modules, tests and accepted survivors (house 5)."""

from __future__ import annotations

import ast
import tomllib

import pytest

from tests.mutation.__main__ import HERE, listed_modules, listed_survivors, verifying_modules
from tests.mutation.checks import checks, is_check
from tests.mutation.operators import mutants

ROOT = HERE.parents[1]


def test_every_module_and_every_test_is_there() -> None:
    missing = [
        path for module in listed_modules() for path in (module.path, *module.tests) if not (ROOT / path).exists()
    ]
    assert missing == []


@pytest.mark.parametrize("file", ["accepted.toml", "conformance.toml"])
def test_every_accepted_survivor_is_still_a_mutant(file: str) -> None:
    """One whose line changed would be reported as gone only after hours of mutating."""
    accepted = listed_survivors(file)
    modules = {row.module for row in accepted}
    assert modules <= {module.path for module in listed_modules()}
    made = set()
    for module in modules:
        text = (ROOT / module).read_text("utf-8")
        made |= {(module, *mutant.key) for mutant in mutants(ast.parse(text), text)}
    assert [row.key for row in accepted if row.key not in made] == []


def test_every_function_that_no_verification_runs_is_there() -> None:
    """What conformance.toml leaves out of ``make mutate-conformance`` has a reason, and still exists."""
    rows = tomllib.loads((HERE / "conformance.toml").read_text("utf-8"))["elsewhere"]
    assert {row["module"] for row in rows} <= {module.path for module in verifying_modules()}
    for row in rows:
        text = (ROOT / row["module"]).read_text("utf-8")
        assert set(row["functions"]) <= {mutant.function for mutant in mutants(ast.parse(text), text)}
        assert row["reason"].endswith(".")


def test_what_refuses_is_a_check_and_what_prepares_is_none() -> None:
    text = """
def read(data: bytes) -> int:
    value = len(data) + 1
    if value > 3:
        raise ValueError("too long")
    demand(value)
    return value * 2

def is_short(data: bytes) -> bool:
    return len(data) < 4
"""
    tree = ast.parse(text)
    nodes = checks(tree)
    found = {(mutant.line, mutant.change) for mutant in mutants(tree, text) if is_check(mutant, nodes)}
    assert {line for line, _ in found} == {4, 5, 6, 10}
    assert (4, "value > 3 → value >= 3") in found
    assert (6, "demand(value) → pass") in found
