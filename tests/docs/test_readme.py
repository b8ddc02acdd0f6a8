"""README's "Going on by hand", played line by line against a real registry, from a clone that stays clean for git."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.sources.git_server import serving
from tests.sources.texts import skill

pytestmark = pytest.mark.processes

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
NEW_FOLDER = re.compile(r"mkdir (\S+) && cd (\S+)")


def by_hand() -> list[str]:
    """The commands of the section, without comments."""
    section = README.split("## Going on by hand\n", 1)[1].split("\n## ", 1)[0]
    lines = (line.split("#", 1)[0].strip() for line in section.splitlines() if line.startswith("    "))
    return [line for line in lines if line]


def test_the_commands_work_one_after_the_other(registry: Registry, tmp_path: Path) -> None:
    person = Person(tmp_path)
    subprocess.run(["git", "init", "--quiet", str(person.folder)], check=True, timeout=60)
    commands = by_hand()
    assert commands[:2] == [". .venv/bin/activate", "rye registry serve"]
    person.ok("registry", "add", registry.url, "--fingerprint", registry.fingerprint, "--default")
    person.ok("login", registry.url, "--token", registry.token)
    printed = ""
    for command in commands[2:]:
        if moved := NEW_FOLDER.fullmatch(command):
            assert moved[1] == moved[2]
            person.folder = (person.folder / moved[1]).resolve()
            person.folder.mkdir()
            continue
        program, *words = shlex.split(command)
        assert program == "rye", command
        answer = ["--yes"] if words[0] == "add" else []
        printed = person.ok(*words, *answer).stdout
    assert "knowledge say about web." in printed


def test_the_ways_to_begin_without_a_registry_work_one_after_the_other(tmp_path: Path) -> None:
    section = README.split("## Three ways to begin\n", 1)[1].split("\n## ", 1)[0]
    commands = [line.removeprefix("    rye ") for line in section.splitlines() if line.startswith("    rye ")]
    assert commands.pop() == "registry serve"
    with serving(tmp_path / "served") as server:
        kit = server.repository("team/kit")
        kit.tag("v2.0.0", kit.commit({f"skills/{name}/SKILL.md": skill(name) for name in ("docx", "xlsx", "pptx")}))
        person = Person(tmp_path)
        shared = person.folder.parent / "shared-items" / "review"
        shared.mkdir(parents=True)
        (shared / "SKILL.md").write_text(skill("review"))
        other = person.folder / ".claude" / "skills" / "notes"
        other.mkdir(parents=True)
        (other / "SKILL.md").write_text(skill("notes"))
        for line in commands:
            words = shlex.split(line.replace("https://git.example.org", server.address))
            lists = words[0] == "add" and len(words) == 2
            answered = ["--yes"] if not lists else []
            listed = person.ok(*words, *answered)
            assert ("docx\t" in listed.stdout) is lists, line
        names = sorted(row["id"] for row in person.ok("list", "--json").json["items"])
    assert names == ["shared-items/review", "team/docx", "team/xlsx"]
