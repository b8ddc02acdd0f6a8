"""The examples of ``rye explain`` that need a registry: one server, and one project whose skill is published, for all of them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

import pytest

from rye.explaining.example import PROJECT, Example, code_of
from tests.explaining.test_examples import ALL, codes_of, expect_code, run
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes
PUBLISHED: Mapping[str, Example] = {name: each for name, each in ALL.items() if each.registry}


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    user = registry.owner("acme")
    shutil.copytree(PROJECT, user.folder, dirs_exist_ok=True)
    for line in ("rye sign .ai/skills/pdf-tools", "rye publish .ai/skills/pdf-tools"):
        assert run(user, line).code == 0, line
    return user


@pytest.mark.parametrize("name", rest_thorough(4, PUBLISHED))
def test_a_command_fails_as_shown_and_works_as_shown(acme: Person, name: str) -> None:
    example = PUBLISHED[name]
    *first, last = example.bad.strip().splitlines()
    for line in first:
        assert run(acme, line).code == 0, line
    expect_code(run(acme, last), name)
    for line in example.good.strip().splitlines():
        result = run(acme, line)
        assert (result.code, code_of(name) in codes_of(result)) == (0, False), result
