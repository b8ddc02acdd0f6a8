"""The lists of ``make mutate`` name what is there: modules, tests and accepted survivors (house 5)."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from typing import Any

import pytest

from tests.mutation.__main__ import HERE, listed_modules, listed_survivors, verifying_modules
from tests.mutation.checks import checks, is_check
from tests.mutation.operators import mutants
from tests.mutation.telling_apart import Seen, instrument

ROOT = HERE.parents[1]


def test_every_module_and_every_test_is_there() -> None:
    missing = [
        path for module in listed_modules() for path in (module.path, *module.tests) if not (ROOT / path).exists()
    ]
    assert missing == []


@pytest.mark.thorough
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


def test_only_cases_in_which_a_condition_decides_otherwise_can_tell_a_mutant_apart() -> None:
    text = """
def grade(value: int) -> str:
    if value > 3 and value < 9:
        return "some"
    if (twice := value * 2) > 100:
        raise ValueError(twice)
    return "none"
"""
    tree = ast.parse(text)
    nodes = checks(tree)
    made = [mutant for mutant in mutants(tree, text) if is_check(mutant, nodes)]
    keys = {mutant.change: key for key, mutant in enumerate(made)}
    instrument(tree, enumerate(made))
    seen = Seen()
    seen.install()
    module: dict[str, Any] = {}
    exec(compile(tree, "grade", "exec"), module)  # noqa: S102  the text above
    for seen.case, value in enumerate((2, 3, 4, 9, 60)):
        if value < 60:
            assert module["grade"](value) == ("some" if value == 4 else "none")
        else:
            with pytest.raises(ValueError, match="120"):
                module["grade"](value)
    assert seen.differs[keys["value > 3 → value >= 3"]] == {1}
    assert seen.differs[keys["value > 3 → value <= 3"]] == {0, 1, 2}
    assert seen.differs[keys["value > 3 and value < 9 → value > 3"]] == {3, 4}
    removed = keys["raise ValueError(twice) → pass"]
    assert (seen.runs[removed], seen.differs[removed]) == ({4}, {4})
    assert seen.runs[keys["100 → 101"]] == {0, 1, 3, 4}  # it binds a name, so each case that runs it has to play it


@pytest.mark.processes
@pytest.mark.thorough
def test_some_cases_notice_some_of_the_removed_checks_that_they_are_about() -> None:
    words = ["--by-conformance", "--case", "clock/a-step", "--case", "clock/by-one-owner", "head_times"]
    found = subprocess.run([sys.executable, "-m", "tests.mutation", *words], cwd=ROOT, capture_output=True, text=True)
    survived = found.stdout.count("   SURVIVED")
    assert "15 mutants, " in found.stdout, found.stdout + found.stderr
    assert 0 < survived < 12  # those cases are a few of all that there are
