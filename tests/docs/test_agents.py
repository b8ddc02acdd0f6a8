"""``docs/how-to/agents.md`` is true: its commands work one after the other, and it lists every program and every code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import get_args

import pytest

from rye.deployment.targets.protocol import Code, all_targets
from rye.project.agent_programs import program_names
from rye.project.manifest import parse_manifest
from tests.docs.typed_blocks import typed
from tests.scenes.item_texts import agent, skill
from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.scenes.registry_process import run

pytestmark = pytest.mark.processes

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "agents.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^<!-- example: (\w+) -->\n((?:    .*\n)+)", TEXT, re.MULTILINE))


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    paths = {
        ".ai/skills/release-notes/SKILL.md": skill("release-notes"),
        ".ai/agents/reviewer.md": agent("reviewer"),
    }
    for path, text in paths.items():
        author.write(path, text)
        author.ok("sign", path)
        author.publish(path.removesuffix("/SKILL.md"))
    return author


def test_every_program_has_a_section_with_the_version_that_was_tried() -> None:
    assert set(EXAMPLES) == set(program_names())
    for one in all_targets():
        section = TEXT.split(f"\n## {one.title}\n", 1)[1].split("\n## ", 1)[0]
        assert f"<!-- example: {one.name} -->" in section
        assert one.tried.removeprefix("not ") in section.lower().replace("not tried by us", "tried")


@pytest.mark.parametrize("name", program_names())
def test_five_commands_lead_to_a_skill_and_an_agent(name: str, user: Person) -> None:
    commands = [shlex.split(line, comments=True) for line in EXAMPLES[name].splitlines()]
    assert len(commands) == 5
    user.path("rye.toml").unlink()
    for program, *words in commands:
        if program == "rye":
            user.ok(*words, *(["--yes"] if words[0] == "add" else []))
    written = {path.name for path in user.folder.rglob("*") if path.is_file() and ".ai" not in path.parts}
    assert "SKILL.md" in written
    assert any(path.startswith("reviewer.") for path in written)


def test_deploy_shows_checks_and_undoes_what_it_wrote(user: Person) -> None:
    user.ok("add", "skill:acme/release-notes", "agent:acme/reviewer", "--yes")
    user.path("rye.toml").write_text(user.path("rye.toml").read_text() + '\n[deploy]\ntargets = ["claude"]\n')
    commands = [words for _, words in typed("how-to/agents.md", "deploy")]
    assert [words[-1] for words in commands] == ["claude", "deploy", "--dry-run", "--check", "status", "--all"]
    for words in commands:
        user.ok(*words)
        assert user.path(".claude/skills/release-notes/SKILL.md").exists() is (words[-1] != "--all")


def test_each_form_is_exported(registry: Registry, user: Person, tmp_path: Path) -> None:
    user.ok("add", "skill:acme/release-notes", "agent:acme/reviewer", "--yes")
    for number, (program, words) in enumerate(typed("how-to/agents.md", "export")):
        words = [word.replace("OUT", str(tmp_path / str(number))) for word in words]
        if program == "rye":
            user.ok(*words)
        else:
            run(*words, "--data", str(registry.data))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "2", "3"]
    assert (tmp_path / "2/.well-known/agent-skills/index.json").is_file()


def test_its_manifest_is_read() -> None:
    block = re.search(r"<!-- manifest -->\n```toml\n(.*?)```", TEXT, re.DOTALL)
    assert block is not None
    table = parse_manifest(block[1]).deploy
    assert (table.targets, table.after_install, table.prefix) == (("claude", "codex"), True, "on-clash")
    assert table.include == ("skill:*", "agent:acme/*")
    assert table.excluded == {"codex": ("role:*",)}


def test_every_code_is_in_it() -> None:
    assert {code for code in get_args(Code) if f"`{code}`" not in TEXT} == set()
