"""Start-up time is a feature (DESIGN §9): a command imports only what it needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person

pytestmark = pytest.mark.processes

HEAVY = (
    "httpx",
    "lxml",
    "rich",
    "cryptography",
    "nacl",
    "litestar",
    "sqlalchemy",
    "registry_server",
    "keyring",
    "mcp",
)
PROBE = """
import json, sys
from rye.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print()
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def imported(rye: Person, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments],
        capture_output=True,
        cwd=rye.folder,
        env=rye.environment,
        check=True,
        timeout=60,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    person = Person(tmp_path)
    for kind in ("directive", "tool", "knowledge"):
        person.new(kind, "some/thing")
    for kind in ("agent", "role", "formula", "skill", "bundle"):
        person.new(kind, "thing")
    return person


@pytest.mark.parametrize(
    "arguments", [("--version",), ("--help",), ("valdate",), ("validate", "nowhere.md"), ("keys",)]
)
def test_nothing_heavy_before_there_is_work(rye: Person, arguments: tuple[str, ...]) -> None:
    assert imported(rye, *arguments).isdisjoint(HEAVY)


@pytest.mark.parametrize("command", ["show", "verify"])
def test_a_fact_without_xml_is_shown_and_verified_without_the_heavy(rye: Person, command: str) -> None:
    assert imported(rye, command, ".ai/knowledge/some/thing.md").isdisjoint(HEAVY)


def test_a_project_without_items_is_listed_without_what_remembers(tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.write("rye.toml", b'[project]\nname = "empty"\n')
    assert imported(person, "list").isdisjoint({*HEAVY, "sqlite3", "locale"})


def test_a_lock_that_holds_imports_no_solver_and_no_client(tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.write("rye.toml", b'[project]\nname = "empty"\n')
    imported(person, "ci")  # accepts the project
    assert imported(person, "ci").isdisjoint({*HEAVY, "ssl", "locale", "shutil"})


def test_verifying_reads_no_yaml(rye: Person) -> None:
    assert "ruamel" not in imported(rye, "verify", ".ai/knowledge/some/thing.md")


def test_the_version_is_known_without_a_single_value_type(rye: Person) -> None:
    assert imported(rye, "--version").isdisjoint({"msgspec", "dataclasses"})


@pytest.mark.parametrize(
    "path",
    rest_thorough(
        1,
        [
            ".ai/tools/some/thing.py",
            ".ai/knowledge/some/thing.md",
            ".ai/agents/thing.md",
            ".ai/roles/thing.md",
            ".ai/formulas/thing.formula.toml",
            ".ai/skills/thing",
            ".ai/bundles/thing.bundle.toml",
        ],
    ),
)
def test_validating_what_is_no_directive(rye: Person, path: str) -> None:
    assert imported(rye, "validate", path).isdisjoint(HEAVY)


def test_validating_a_directive_adds_only_the_xml_parser(rye: Person) -> None:
    assert imported(rye, "validate", ".ai/directives/some/thing.md") & set(HEAVY) <= {"lxml"}


def test_a_directive_that_is_no_text_needs_no_xml_parser(rye: Person) -> None:
    rye.write(".ai/directives/some/thing.md", b"\xff")
    assert imported(rye, "validate", ".ai/directives/some/thing.md").isdisjoint(HEAVY)
