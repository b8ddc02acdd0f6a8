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
from tests.scenes.registry import Registry
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
        asks = words[0] in ("import", "install")
        person.ok(*words, *(["--yes"] if asks else []))
    assert person.path(".ai/packages/skills/skills/pdf/SKILL.md").exists()
    assert block("comments") in person.path("rye.toml").read_text()


def test_a_collection_is_published_by_three_commands(registry: Registry) -> None:
    user = registry.owner("kit")
    for name in ("one", "two"):
        place = user.folder.parent / "collection" / name / "SKILL.md"
        place.parent.mkdir(parents=True)
        place.write_text(f"---\nname: {name}\ndescription: Does {name}. Use it for {name}.\n---\n\n# {name}\n")
    (user.folder.parent / "collection" / "three").mkdir()
    (user.folder.parent / "collection" / "three" / "SKILL.md").write_text("no frontmatter")
    codes = [user.run(*line.split()[1:]).code for line in block("collection").splitlines()]
    assert codes == [1, 0, 0], "adopt lists the third as refused"
    for name in ("one", "two"):
        assert user.ok("info", f"skill:kit/{name}", "--json").json["version"] == "0.1.0"
