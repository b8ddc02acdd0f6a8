"""``docs/how-to/importing.md`` is true: its commands lead to a green build, and the files that it lists are read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rye.workspace.installing.import_files import KNOWN
from tests.importing.test_import import FILES, PDF_HASH, project_lock
from tests.scenes.person import Person
from tests.sources.git_server import GitServer, serving

pytestmark = pytest.mark.processes

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "importing.md").read_text(encoding="utf-8")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with serving(tmp_path / "served") as running:
        yield running


def block(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n```[a-z]*\n(.*?)```", TEXT, re.DOTALL)
    assert found is not None
    return found[1]


def test_every_file_that_is_read_is_in_the_table() -> None:
    table = TEXT.split("## What is read")[1].split("\n## ")[0]
    assert [name for name in KNOWN if f"`{name}`" not in table] == []


def test_its_commands_lead_from_a_lock_to_a_green_build(server: GitServer, tmp_path: Path) -> None:
    server.repository("skills").commit(FILES)
    person = Person(tmp_path)
    lock = json.loads(project_lock(server.url("skills"), pdf=PDF_HASH))
    lock["skills"]["left-pad"] = {"source": "left-pad", "sourceType": "node_modules", "computedHash": "0" * 64}
    person.write("skills-lock.json", json.dumps(lock))
    for line in block("commands").splitlines():
        words = line.partition("#")[0].split()[1:]
        asks = words[0] in ("import", "install") and "--dry-run" not in words
        person.ok(*words, *(["--yes"] if asks else []))
    assert person.path(".ai/packages/skills/skills/pdf/SKILL.md").exists()
    assert block("comments") in person.path("rye.toml").read_text()
