"""docs/reference/attacks*.md claim only what a test shows: every row of their tables names an existing attack or test."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from tests.attacks.hostile_repository.attacks import Attack as RepositoryAttack
from tests.attacks.simulation import Attack
from tests.attacks.test_program import ALL

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"
NAMES = ("attacks.md", "attacks-publishers.md", "attacks-repositories.md", "attacks-sources.md", "attacks-keys.md")
PAGES = "".join((DOCS / "reference" / name).read_text("utf-8") for name in NAMES)
ROWS = re.findall(r"^\|(?:[^|]+\|){2,3} `(test_\w+)\.py::([^`]+)` \|$", PAGES, re.MULTILINE)
EVERY = "".join(path.read_text("utf-8") for path in sorted((DOCS / "reference").glob("attacks*.md")))
NAMED = re.findall(r"`(test_\w+)\.py::([^`]+)`", EVERY)
"""What the tables name, those of attacks during a run (which :mod:`tests.docs.test_runtime` reads) as well."""

TESTS = Path(__file__).parents[1]


def attacks_in(found: Mapping[str, object]) -> list[Attack | RepositoryAttack]:
    """The attacks in the tables of a module."""
    return [
        attack
        for table in found.values()
        if isinstance(table, tuple)
        for attack in table
        if isinstance(attack, Attack | RepositoryAttack)
    ]


def module_of(path: Path) -> Mapping[str, object]:
    return vars(import_module(".".join(path.relative_to(TESTS.parent).with_suffix("").parts)))


@cache
def files() -> Sequence[Path]:
    return list(TESTS.rglob("test_*.py"))


@cache
def names_in(module: str) -> set[str]:
    """The names of a file's tests and of the attacks in its tables. If several files have the name, the one with attacks."""
    paths = [path for path in files() if path.stem == module]
    found = module_of(min(paths, key=lambda path: ("attacks" not in path.parts, "cli" not in path.parts, path)))
    attacks = {attack.name for attack in attacks_in(found)}
    classes = [vars(value) for name, value in found.items() if name.startswith("Test") and isinstance(value, type)]
    return attacks | {
        name
        for names in (found, *classes)
        for name, value in names.items()
        if name.startswith("test_") and callable(value)
    }


def test_every_row_of_the_tables_is_read() -> None:
    rows = [line for line in PAGES.split("\n") if line.startswith("| ") and not line.startswith("| attack ")]
    assert len(rows) == len(ROWS) >= 100


@pytest.mark.parametrize("module", sorted({module for module, _ in ROWS}))
def test_what_the_page_names_exists(module: str) -> None:
    assert {name for file, name in ROWS if file == module} <= names_in(module)


BUILT = frozenset({"test_release", "test_zipapp"})
"""What they look at is what is handed out, which they build first. ``make test-thorough`` runs them."""


def some_case_is_run(found: Mapping[str, object], name: str) -> Iterator[bool]:
    """Whether ``make test`` has some case of each test of a name in a module."""
    classes = [value for title, value in found.items() if title.startswith("Test") and isinstance(value, type)]
    for holder, names in ((None, found), *((each, vars(each)) for each in classes)):
        if name in names:
            marks = [*marks_of(found), *(marks_of(vars(holder)) if holder else ()), *marks_of(vars(names[name]))]
            lists = [mark.args[1] for mark in marks if mark.name == "parametrize"]
            whole = all(mark.name != "thorough" for mark in marks)
            yield whole and all(any(not is_thorough(value) for value in values) for values in lists)


def marks_of(found: Mapping[str, object]) -> Sequence[pytest.Mark]:
    """The marks of a module, a class or a test."""
    marks = found.get("pytestmark", [])
    each = [
        mark.mark if isinstance(mark, pytest.MarkDecorator) else mark
        for mark in (marks if isinstance(marks, list) else [marks])
    ]
    return [mark for mark in each if isinstance(mark, pytest.Mark)]


def is_thorough(value: object) -> bool:
    return any(mark.name == "thorough" for mark in getattr(value, "marks", ()))


@pytest.mark.parametrize("module", sorted({module for module, _ in NAMED}))
def test_make_test_runs_what_the_pages_name(module: str) -> None:
    """Further cases of a test may be thorough, one is not."""
    paths = [path for path in files() if path.stem == module]
    names = {name for file, name in NAMED if file == module and name.startswith("test_")}
    found = {name: [ran for path in paths for ran in some_case_is_run(module_of(path), name)] for name in names}
    assert {name for name, ran in found.items() if not any(ran)} == (names if module in BUILT else set())


def test_the_page_counts_the_attacks() -> None:
    [least] = re.findall(r"more than (\d+) attacks", PAGES)
    repositories = [
        attack
        for path in sorted(TESTS.glob("attacks/hostile_repository/test_*.py"))
        for attack in attacks_in(module_of(path))
    ]
    assert len(repositories) >= 140
    assert len(ALL) + len(repositories) > int(least)


def test_every_attack_of_a_repository_has_a_name_of_its_own() -> None:
    names = [
        attack.name
        for path in sorted(TESTS.glob("attacks/hostile_repository/test_*.py"))
        for attack in attacks_in(module_of(path))
    ]
    assert sorted(set(names)) == sorted(names)


def test_codes_that_the_page_names_exist() -> None:
    explained = (DOCS / "explanation" / "security.md").read_text("utf-8")
    [listed] = re.findall(r"\*\*If you see an alarm\*\* \(([^)]+)\)", explained)
    assert set(re.findall(r"`([a-z-]+)`", listed)) <= {attack.code for attack in ALL}
