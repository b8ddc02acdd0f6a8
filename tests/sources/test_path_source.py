"""Items of local folders: read in place, hashed into the lock, and copied."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rye.project.lock import parse_lock
from rye.project.manifest import parse_manifest
from tests.scenes.item_texts import AGENT
from tests.scenes.person import Person
from tests.sources.texts import skill

pytestmark = pytest.mark.processes

STYLE = """---
name: style
version: 1.2.0
---

# Style

Write short sentences.
"""


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def shared(person: Person) -> Path:
    root = person.folder.parent / "shared"
    write(root, {"pdf/SKILL.md": skill("pdf"), "pdf/guide.md": "# Guide\n", "docx/SKILL.md": skill("docx")})
    return root


def test_a_folders_items_are_copied_and_locked(person: Person, shared: Path) -> None:
    person.ok("add", "../shared", "pdf", "-y")
    assert parse_manifest(person.path("rye.toml").read_text()).sources["shared"].spec == "path+../shared"
    [row] = parse_lock(person.path("rye.lock").read_text()).items
    assert row.source is not None
    assert (row.id, row.source.path, row.source.place) == ("shared/pdf", "../shared", "pdf/SKILL.md")
    assert row.version.startswith("0.0.0+p")
    assert person.path(".ai/packages/shared/skills/pdf/guide.md").read_text() == "# Guide\n"
    assert "none (folder ../shared)" in person.ok("list").stdout
    person.ok("ci")


@pytest.mark.parametrize(
    "change",
    [
        {"pdf/SKILL.md": skill("pdf", body="Other.")},
        {"pdf/guide.md": "# Other\n"},
        {"pdf/new.md": "# New\n"},
    ],
    ids=["own file", "attached file", "one more file"],
)
def test_ci_fails_when_the_folder_changed_and_install_shows_it(
    person: Person, shared: Path, change: dict[str, str]
) -> None:
    person.ok("add", "../shared", "pdf", "-y")
    before = person.path("rye.lock").read_bytes()
    write(shared, change)
    for words in (["ci"], ["install", "--locked"], ["install", "--frozen"]):
        assert person.run(*words, "--json").error["code"] == "source-changed"
    assert "source-changed" in person.run("audit").stdout
    assert person.path("rye.lock").read_bytes() == before
    [newer] = person.ok("outdated", "--json").json["outdated"]
    assert newer["id"] == "shared/pdf"
    person.ok("install", "-y")
    [name] = change
    assert person.path(f".ai/packages/shared/skills/{name}").read_text() == change[name]
    person.ok("ci")


def test_a_change_that_brings_something_to_run_stops_the_install(person: Person, shared: Path) -> None:
    person.ok("add", "../shared", "pdf", "-y")
    write(shared, {"pdf/run.sh": "#!/bin/sh\nid\n"})
    assert person.run("install", "-y", "--json").error["code"] == "consent-needed"
    assert not person.path(".ai/packages/shared/skills/pdf/run.sh").exists()


def test_a_path_where_nothing_is_is_neither_a_folder_nor_a_repository(person: Person) -> None:
    refused = person.fails("add", "../kit.git#v1", "pdf", code="no-such-folder")
    assert refused["message"] == "There is no folder and no git repository '../kit.git'."
    assert "--as NAME" in person.fails("add", "../", code="bad-argument", exit_code=2)["hint"]


def test_a_folder_that_is_gone_is_an_error_that_names_it(person: Person, shared: Path) -> None:
    person.ok("add", "../shared", "pdf", "-y")
    shared.rename(shared.with_name("moved"))
    refused = person.run("ci", "--json")
    assert (refused.code, refused.error["code"]) == (1, "no-such-folder")
    assert "The folder '../shared' of the source shared does not exist." in refused.error["message"]


def test_what_moves_and_keeps_its_bytes_is_looked_at_again(person: Person, shared: Path) -> None:
    person.ok("add", "../shared", "pdf", "-y")
    (shared / "skills").mkdir()
    (shared / "pdf").rename(shared / "skills" / "pdf")
    assert person.run("ci", "--json").error["code"] == "source-changed"
    person.ok("install")
    [row] = parse_lock(person.path("rye.lock").read_text()).items
    assert row.source is not None
    assert row.source.place == "skills/pdf/SKILL.md"
    shared.rename(shared.with_name("other"))
    person.write("rye.toml", person.path("rye.toml").read_text().replace("../shared", "../other"))
    assert person.run("install", "-y", "--json").error["code"] == "consent-needed"
    person.ok("install", "--approve", f"shared/pdf@{row.version}")
    person.ok("ci")


def test_a_rye_project_is_a_source_and_its_items_depend_on_each_other(person: Person, shared: Path) -> None:
    other = shared.with_name("other")
    write(
        other,
        {
            "rye.toml": '[project]\nname = "other"\nnamespace = "acme"\n',
            ".ai/skills/main/SKILL.md": skill(
                "main", 'metadata:\n  version: "1.1.0"\n  dependencies: "skill:acme/helper"'
            ),
            ".ai/skills/helper/SKILL.md": skill("helper"),
            ".ai/packages/foreign/skills/no/SKILL.md": skill("no"),
        },
    )
    person.ok("add", "../other", "main", "-y")
    rows = {row.id: row for row in parse_lock(person.path("rye.lock").read_text()).items}
    assert set(rows) == {"other/main", "other/helper"}
    assert rows["other/main"].version == "1.1.0"
    assert rows["other/main"].dependencies == ("skill:other/helper",)
    assert person.run("add", "../other", "no", "-y", "--json").error["code"] == "no-such-item"
    person.ok("ci")


def test_agents_folders_and_marketplaces_are_read(person: Person, shared: Path) -> None:
    other = shared.with_name("kit")
    write(
        other,
        {
            ".claude/skills/one/SKILL.md": skill("one"),
            ".agents/skills/two/SKILL.md": skill("two"),
            ".claude-plugin/marketplace.json": '{"name": "m", "plugins": [{"name": "p", "source": "./.plugins/p"}]}',
            ".plugins/p/skills/three/SKILL.md": skill("three"),
            "plugins/q/skills/four/SKILL.md": skill("four"),
        },
    )
    refused = person.run("add", "../kit", "-y", "--json")
    assert refused.error["items"] == ["skill:four", "skill:one", "skill:three", "skill:two"]


def test_agents_of_plugins_and_of_folders_that_are_called_so(person: Person, shared: Path) -> None:
    def agent(name: str) -> str:
        return AGENT.format(name=name, tools="tools:\n  allowed: [Read]\n")

    listed = [
        {"name": "p", "source": "./plugins/p", "agents": ["./more/three.md", "./crew/", "../../out.md"]},
        {"name": "r", "source": "./plugins/r", "agents": "./crew/five.md"},
    ]
    write(
        shared.with_name("kit"),
        {
            ".claude-plugin/marketplace.json": json.dumps({"name": "m", "plugins": listed}),
            "plugins/p/agents/one.md": agent("one"),
            "plugins/p/more/three.md": agent("three"),
            "plugins/p/crew/four.md": agent("four"),
            "plugins/r/crew/five.md": agent("five"),
            "plugins/q/.claude-plugin/plugin.json": "{}",
            "plugins/q/agents/two.md": agent("two"),
            "docs/agents/no.md": agent("no"),
            "out.md": agent("out"),
        },
    )
    names = ["agent:five", "agent:four", "agent:one", "agent:three", "agent:two"]
    assert person.run("add", "../kit", "-y", "--json").error["items"] == names
    person.ok("add", "../kit/docs/agents", "no", "-y")
    assert "agent:docs-agents/no" in person.path("rye.toml").read_text()
    person.ok("ci")


def test_a_link_in_the_project_does_not_lead_a_source_elsewhere(person: Person, shared: Path) -> None:
    person.path("vendor").symlink_to(shared)
    refused = person.run("add", "./vendor", "pdf", "-y", "--json")
    assert refused.error["code"] == "no-such-folder"
    assert "symbolic link" in refused.error["message"]


def test_links_and_pipes_in_a_folder_make_the_item_unusable(person: Person, shared: Path) -> None:
    (shared / "pdf" / "secret.md").symlink_to("/etc/passwd")
    os.mkfifo(shared / "docx" / "pipe")
    said = person.run("add", "../shared", "--all", "-y", "--json").error["message"]
    assert "'secret.md' is a link" in said
    assert "'pipe' is a special" in said


@pytest.mark.parametrize("path", [".", "./", "..", "/"])
def test_the_project_itself_is_no_source(person: Person, path: str) -> None:
    refused = person.run("add", path, "--all", "-y", "--json")
    assert refused.code in (1, 2)
    assert not person.path("rye.lock").exists()


def test_the_policy_may_want_git(person: Person, shared: Path) -> None:
    person.write("rye.toml", '[project]\nname = "shop"\n\n[policy]\nsources = "git"\n')
    refused = person.run("add", "../shared", "pdf", "-y", "--json")
    assert refused.code == 1
    assert "policy" in refused.error["message"]


def test_a_policy_that_comes_later_is_an_error_of_audit_and_ci(person: Person, shared: Path) -> None:
    person.ok("add", "../shared", "pdf", "-y")
    (person.home / "config").mkdir(exist_ok=True)
    (person.home / "config" / "policy.toml").write_text('[policy]\nsources = "git"\n')
    assert person.run("ci", "--json").code == 1
    assert 'sources = "git"' in person.run("audit").stdout


@pytest.mark.parametrize("way", [[], ["--editable"]])
def test_a_folder_that_is_not_there_is_answered_with_the_path_and_not_with_the_manifest(
    person: Person, way: list[str]
) -> None:
    error = person.run("add", "../nope", "pdf", *way, "--json").error
    assert (error["code"], error["hint"]) == ("no-such-folder", "Check the path.")


def test_a_folder_that_went_away_is_answered_with_the_manifest(person: Person, shared: Path) -> None:
    person.ok("add", "../shared", "pdf", "-y")
    shared.rename(shared.parent / "elsewhere")
    error = person.run("add", "../shared", "docx", "-y", "--json").error
    assert (error["code"], error["hint"]) == ("no-such-folder", "Check [sources] in rye.toml.")
