"""What commands cost in a project of many items: the lock is read as often as for few, and each file is hashed as often."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rye.project import lock_file
from rye.verified import on_disk
from tests.scenes.person import Person

FEW, MANY = 3, 12
SKILL = "---\nname: {name}\ndescription: Does work {name}. Use when it is asked for.\n---\n# {name}\n\nRun `run.py`.\n"
COMMANDS = {
    "audit": ["audit", "--offline"],
    "ci": ["ci"],
    "check": ["check"],
    "deployed": ["deploy", "--check"],
    "doctor": ["doctor"],
    "diff": ["diff", "--edited"],
    "facts": ["facts", ".ai/packages"],
    "info": ["info", "team/s1"],
    "json": ["list", "--json"],
    "outdated": ["outdated"],
    "override": ["override", "list"],
    "permissions": ["permissions", "show", "team/s1"],
    "sbom": ["sbom"],
    "sign": ["sign"],
    "update": ["update"],
    "validate": ["validate"],
    "why": ["why", "team/s1"],
    "deploy": ["deploy", "--target", "claude", "-y"],
    "install": ["install"],
    "list": ["list"],
    "search": ["search", "work", "--local"],
    "show": ["show", "team/s1"],
    "tree": ["tree"],
    "trust": ["trust", "project"],
    "usage": ["usage"],
    "verify": ["verify", ".ai/packages/team/skills"],
}
EXPECTED = {"verify": 1}
"""The exit status, if it is not 0: nobody signed what is in the folder."""


def project(folder: Path, number: int) -> Person:
    """A project with so many skills of a folder, each with a file attached."""
    made = Person(folder, "shop")
    for each in range(number):
        for place in (f"../kit/skills/s{each}", f".ai/skills/own-{each}"):
            made.write(f"{place}/SKILL.md", SKILL.format(name=place.rpartition("/")[2]))
            made.write(f"{place}/run.py", f"print({each})\n")
    made.ok("keys", "generate")
    made.ok("sign")
    made.ok("add", "../kit", "--all", "--as", "team", "-y")
    made.accepts()
    return made


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> tuple[Person, Person]:
    folder = tmp_path_factory.mktemp("many")
    return project(folder / "few", FEW), project(folder / "many", MANY)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_reads_the_lock_as_often_for_many_items_and_each_file_as_often(
    projects: tuple[Person, Person], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    calls: Counter[str] = Counter()
    for module, function in ((lock_file, "parse_lock"), (on_disk, "read_present")):
        real = getattr(module, function)

        def counted(*given: Any, _name: str = function, _real: Any = real) -> Any:
            calls[_name] += 1
            return _real(*given)

        monkeypatch.setattr(module, function, counted)
    seen = []
    for person in projects:
        calls.clear()
        assert person.run(*COMMANDS[name]).code == EXPECTED.get(name, 0)
        seen.append((calls["parse_lock"], calls["read_present"]))
    (locks, hashes), (more_locks, more_hashes) = seen
    assert locks == more_locks
    assert more_hashes * FEW <= hashes * MANY
