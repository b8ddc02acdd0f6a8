"""What commands cost in a project of many items, each with an override of the project and one of the user: what is about all
items is read as often as for few, and each file is hashed as often.
"""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from rye.consent.memory import Memory
from rye.deployment import own_items
from rye.project import lock_file, spaces
from rye.signing.trust_store import TrustStore
from rye.verified import on_disk
from rye.workspace.customizing import lapsed, overriding
from rye.workspace.installing import removing
from rye.workspace.items import organization_rules
from tests.scenes.effort import rest_thorough
from tests.scenes.item_texts import FORMULA
from tests.scenes.person import Person

FEW, MANY = 3, 12
SKILL = "---\nname: {name}\ndescription: Does work {name}. Use when it is asked for.\n---\n# {name}\n\nRun `run.py`.\n"
OVERRIDE = """---
agent: "{name}"
base-version: "1.0.0"
last-reviewed: "2026-01-02"
---

<!-- DIRECTIVE: append
target: # {name}
reason: The house's way
-->
As {who} wants it.
<!-- END DIRECTIVE -->
"""
OVERLAY = """[[step-overrides]]
step_id = "build"
mode = "append"
description = "Build it well."
"""
READ_ONCE: tuple[tuple[Any, str], ...] = (
    (lock_file, "_parsed"),
    (spaces, "_entries"),
    (Memory, "_read"),
    (TrustStore, "entries"),
    (spaces, "read_other_policies"),
    (organization_rules, "read_other_policies"),
)
"""What reads rye.lock, lists a space, reads what the user agreed to in the project, whom the user trusts, and the policies."""
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
    "overrides": ["override", "check"],
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


def override(made: Person, name: str) -> None:
    """An override of the item in the project, and one of the user's own, both named by the item's short name."""
    for who, folder in (("the project", made.path(".ai")), ("the user", made.folders.user_space)):
        file = folder / f"overrides/{name}.overrides.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(OVERRIDE.format(name=name, who=who))


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
    for each in range(number):
        override(made, f"s{each}")
        override(made, f"own-{each}")
    made.accepts()
    return made


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> tuple[Person, Person]:
    folder = tmp_path_factory.mktemp("many")
    return project(folder / "few", FEW), project(folder / "many", MANY)


@pytest.mark.parametrize("name", rest_thorough(2, COMMANDS))
def test_a_command_reads_what_is_about_all_items_as_often_for_many_and_each_file_as_often(
    projects: tuple[Person, Person], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    calls: Counter[str] = Counter()
    for owner, function in (*READ_ONCE, (on_disk, "read_present")):
        real = getattr(owner, function)

        def counted(*given: Any, _name: str = function, _real: Any = real) -> Any:
            calls[_name] += 1
            return _real(*given)

        given_itself = isinstance(owner, type) and isinstance(vars(owner)[function], staticmethod)
        monkeypatch.setattr(owner, function, staticmethod(counted) if given_itself else counted)
    seen = []
    for person in projects:
        calls.clear()
        assert person.run(*COMMANDS[name]).code == EXPECTED.get(name, 0)
        seen.append(calls.copy())
    few, many = seen
    assert many.pop("read_present", 0) * FEW <= few.pop("read_present", 0) * MANY
    assert many == few


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[None]:
    """A list that grows with each call of a function."""
    calls: list[None] = []
    real = getattr(owner, name)

    def call(*given: Any, **named: Any) -> Any:
        calls.append(None)
        return real(*given, **named)

    monkeypatch.setattr(owner, name, call)
    return calls


@pytest.mark.parametrize("command", ["check", "doctor"])
def test_all_parts_of_a_check_judge_the_overrides_of_an_item_once(
    projects: tuple[Person, Person], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    judged = counted(monkeypatch, overriding, "apply_overrides")
    assert projects[0].run(command).code == 0
    assert len(judged) == 2 * FEW


@pytest.mark.thorough
def test_many_items_are_added_and_removed_with_as_many_readings_of_the_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = counted(monkeypatch, tomlkit, "parse")
    read = counted(monkeypatch, removing, "parse_manifest")
    seen = []
    for number in (FEW, MANY):
        made = project(tmp_path / str(number), number)
        named = [f"team/s{each}" for each in range(number)]
        for words in (["remove", *named[1:]], ["add", *named[1:]], ["remove", *named]):
            parsed.clear()
            read.clear()
            made.ok(*words, "-y")
            seen.append((words[0], len(parsed), len(read)))
    assert seen[:3] == seen[3:]


def test_a_clone_is_looked_through_once_for_the_key_of_all_its_items(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    author = Person(tmp_path / "author", "shop")
    author.ok("keys", "generate")
    for each in range(FEW):
        author.sign(f"skills/s{each}/SKILL.md", SKILL.format(name=f"s{each}"))
    author.write(".ai/keys/author.pem", Path(author.public_key()).read_bytes())
    colleague = Person(tmp_path / "colleague")
    shutil.copytree(author.folder, colleague.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".rye"))
    looked = counted(monkeypatch, own_items, "not_agreed_keys")
    said = colleague.run("deploy", "--target", "claude", "-y")
    assert "`rye trust project` shows its signer's key" in said.stdout + said.stderr
    assert len(looked) == 1


@pytest.mark.parametrize("command", ["check", "doctor", "ci"])
def test_what_each_overlay_does_is_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    made = Person(tmp_path, "shop")
    made.write(".ai/formulas/build.formula.toml", FORMULA.format(name="build"))
    made.write(".ai/formula-overlays/build.toml", OVERLAY)
    made.ok("keys", "generate")
    made.ok("sign")
    made.accepts()
    looked = counted(monkeypatch, lapsed, "overlay_checks")
    made.ok(command)
    assert len(looked) == 1


@pytest.mark.parametrize("command", rest_thorough(2, ["overlay list", "overlay check", "doctor"]))
def test_the_spaces_are_listed_as_often_for_overlays_of_many_formulas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    listed = counted(monkeypatch, spaces, "_entries")
    seen = []
    for number in (FEW, MANY):
        made = Person(tmp_path / str(number), "shop")
        for each in range(number):
            made.write(f".ai/formulas/f{each}.formula.toml", FORMULA.format(name=f"f{each}"))
            made.write(f".ai/formula-overlays/f{each}.toml", OVERLAY)
        made.accepts()
        listed.clear()
        made.ok(*command.split())
        seen.append(len(listed))
    assert seen[0] == seen[1]
