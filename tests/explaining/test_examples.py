"""Every example of ``rye explain``: the bad one gives its code and the exit status in the table, the good one does not."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from rye.explaining.example import EXAMPLES, PROJECT, Example, code_of, examples
from rye.explaining.table import AREAS, by_code, load
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person, Result

TABLE = by_code(load())
ALL: Mapping[str, Example] = {name: each for area in AREAS for name, each in examples(area).items()}
READ = {name: each for name, each in ALL.items() if each.file is not None and each.run is None}
"""The text that `rye validate` reads; these examples share one project."""
CHANGED = {name: each for name, each in ALL.items() if each.file is not None and each.run is not None}
COMMANDS = {name: each for name, each in ALL.items() if each.file is None and not each.registry}


def codes_in(value: object) -> Iterator[str]:
    """Every code in a document of ``--json``, at any depth."""
    if isinstance(value, dict):
        for key, below in value.items():
            if key in ("code", "rule") and isinstance(below, str):
                yield below
            yield from codes_in(below)
    elif isinstance(value, list):
        for below in value:
            yield from codes_in(below)


def project(base: Path) -> Person:
    person = Person(base)
    shutil.copytree(PROJECT, person.folder, dirs_exist_ok=True)
    return person


def run(person: Person, line: str) -> Result:
    words = shlex.split(line)
    assert words[0] == "rye", line
    return person.run(*words[1:], "--json")


def codes_of(result: Result) -> set[str]:
    return set(codes_in(result.json)) if result.stdout.strip() else set()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """One project for all examples that change one file and otherwise only read."""
    return project(tmp_path_factory.mktemp("examples"))


@pytest.fixture(scope="module")
def good(shared: Person) -> Mapping[str, Result]:
    """What each command says about the unchanged project."""
    return {line: run(shared, line) for line in {each.command for each in READ.values()}}


def severities(value: object, code: str) -> Iterator[str]:
    """The severities of the findings with a code, in a document of ``--json``."""
    if isinstance(value, dict):
        if code in (value.get("code"), value.get("rule")) and isinstance(value.get("severity"), str):
            yield value["severity"]
        for below in value.values():
            yield from severities(below, code)
    elif isinstance(value, list):
        for below in value:
            yield from severities(below, code)


def expect_code(result: Result, name: str) -> None:
    """``name``: the code, and after a space what the error says it is about."""
    code, _, what = name.partition(" ")
    if what:
        assert (result.error["code"], result.error["what"]) == (code, what)
    assert code in codes_of(result), result
    found = set(severities(result.json, code))
    if not found or "error" in found:
        assert result.code == TABLE[code].exit, result
    assert not ("error" in found and TABLE[code].exit == 0)


def with_the_bad_text(person: Person, example: Example) -> Result:
    """Run with the bad text instead of the good one, then restore the file."""
    assert example.file is not None
    path = person.path(example.file)
    before = path.read_bytes()
    text = before.decode()
    assert text.count(example.good) == 1, f"the right text is not in {example.file} once"
    path.write_bytes(text.replace(example.good, example.bad).encode())
    try:
        return run(person, example.command)
    finally:
        path.write_bytes(before)


@pytest.mark.parametrize("name", rest_thorough(8, READ))
def test_a_text_is_wrong_as_shown_and_right_as_shown(shared: Person, good: Mapping[str, Result], name: str) -> None:
    example = READ[name]
    expect_code(with_the_bad_text(shared, example), name)
    assert code_of(name) not in codes_of(good[example.command])


@pytest.mark.parametrize("name", rest_thorough(8, CHANGED))
def test_a_changed_file_is_found_by_the_command_as_shown(tmp_path: Path, name: str) -> None:
    example = CHANGED[name]
    person = project(tmp_path)
    for line in example.first.strip().splitlines():
        assert run(person, line).code == 0, line
    expect_code(with_the_bad_text(person, example), name)
    result = run(person, example.command)
    assert (result.code, code_of(name) in codes_of(result)) == (0, False), result


@pytest.mark.parametrize("name", rest_thorough(8, COMMANDS))
def test_a_command_fails_as_shown_and_works_as_shown(tmp_path: Path, name: str) -> None:
    example = COMMANDS[name]
    for number, (text, is_good) in enumerate(((example.bad, False), (example.good, True))):
        person = project(tmp_path / str(number))
        *first, last = text.strip().split("\n")
        for line in first:
            assert run(person, line).code == 0, line
        result = run(person, last)
        if is_good:
            assert code_of(name) not in codes_of(result), result
            assert result.code == 0, result
        else:
            expect_code(result, name)


def test_examples_are_of_codes_of_their_area() -> None:
    assert [name for area in AREAS for name in examples(area) if TABLE[code_of(name)].area != area] == []
    assert {path.stem for path in EXAMPLES.glob("*.toml")} <= set(AREAS)
    assert len(ALL) >= 100


def test_the_project_of_the_examples_has_no_findings(shared: Person) -> None:
    assert not set(codes_of(run(shared, "rye validate")))
