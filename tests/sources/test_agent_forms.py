"""Agents in the own forms of agent programs, found in sources and installed as Rye's (design/sources.md 1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.items.agent import reader
from rye.items.agent.model import Agent
from rye.items.reading import ReadOptions, Source
from rye.project.lock import parse_lock
from tests.scenes.effort import rest_thorough
from tests.scenes.item_texts import agent
from tests.scenes.person import Person
from tests.sources.git_server import GitServer

pytestmark = pytest.mark.processes

CLAUDE = """---
name: code-reviewer
description: Use this agent when: code was written. <example>user: "look"</example>
tools: Read, Grep, Bash(git diff:*), Task
model: sonnet
color: green
---

# You review

## First

Read it.
"""
COPILOT = """---
name: 'C# Expert'
description: Knows C#.
tools: ['read', 'search', 'github/*']
model: GPT-5
handoffs: []
---
You are an expert.
"""
OPENCODE = """---
description: Writes documents.
mode: subagent
steps: 7
permission:
  bash: deny
  webfetch: ask
---
You write.
"""
GEMINI = """---
name: looker
description: Looks at things.
tools: [read_file, grep_search]
max_turns: 4
timeout_mins: 2
---
You look.
"""
CODEX = '''name = "shipper"
description = "Ships."
sandbox_mode = "workspace-write"
model = "gpt-5"
developer_instructions = """
You ship.
"""
[mcp_servers.far]
command = "npx"
args = ["far"]
'''
CURSOR = "---\nname: judge\ndescription: Judges.\nreadonly: true\n---\nYou judge.\n"
FILES = {
    "plugin/.claude/agents/review/reviewer.md": CLAUDE,
    "agents/CSharpExpert.agent.md": COPILOT,
    ".github/agents/0-entry.md": COPILOT.replace("C# Expert", "Entry"),
    ".opencode/agent/docs.md": OPENCODE,
    ".gemini/agents/looker.md": GEMINI,
    ".codex/agents/ship.toml": CODEX,
    ".cursor/agents/judge.md": CURSOR,
    ".claude/agents/README.md": "# About\n",
    ".claude/agents/own.md": agent("own"),
    "skills/pdf/SKILL.md": "---\nname: pdf\ndescription: Reads pdf. Use it for pdf.\n---\n\n# pdf\n",
    "skills/pdf/assets/x.agent.md": COPILOT,
}


def installed(person: Person, name: str) -> str:
    return person.path(f".ai/packages/team/agents/{name}.md").read_text()


def add(server: GitServer, person: Person, files: dict[str, str], *more: str) -> str:
    server.repository("team").commit(files)
    return person.ok("add", f"git+{server.url('team')}", "--all", "-y", "--as", "team", *more).stderr


def read(person: Person, name: str) -> Agent:
    reading = reader.read(Source(installed(person, name), name=name), ReadOptions())
    assert reading.value is not None, reading.diagnostics
    return reading.value


def test_agents_of_every_program_are_installed_from_one_repository(server: GitServer, person: Person) -> None:
    said = add(server, person, FILES)
    names = [row.id for row in parse_lock(person.path("rye.lock").read_text()).items if row.kind == "agent"]
    assert names == [
        *("team/agent-0-entry", "team/code-reviewer", "team/csharpexpert", "team/docs", "team/judge", "team/looker"),
        *("team/own", "team/shipper"),
    ]
    assert "not installed" not in said
    assert (
        "1 agent converted from Claude Code's form; kept without effect, since rye has no counterpart: color (1)"
        in said
    )
    assert (
        "2 agents converted from Copilot's form; kept without effect, since rye has no counterpart: handoffs (2)"
        in said
    )
    assert "1 agent converted from OpenCode's form" in said
    assert "mode (1), permission (1)" in said
    assert "model (1)" in said
    claude = read(person, "code-reviewer")
    assert claude.when_to_use.startswith("Use this agent when: code")
    assert claude.system_prompt == "# You review\n\n## First\n\nRead it."
    assert claude.tools == {"allowed": ["Read", "Grep", "Bash(git diff:*)", "Task"]}
    assert claude.provider == {"name": "claude", "model": "sonnet"}
    assert claude.metadata == {"claude": {"color": "green"}}
    copilot = read(person, "csharpexpert")
    assert (copilot.display_name, copilot.tools) == ("C# Expert", {"allowed": ["Read", "Glob", "Grep", "github/*"]})
    opencode = read(person, "docs")
    assert opencode.tools == {"blocked": ["Bash", "WebFetch"]}
    assert opencode.limits == {"maxIterations": 7}
    assert read(person, "looker").tools == {"allowed": ["Read", "Grep"]}
    assert read(person, "judge").tools == {"allowed": ["Read", "Glob", "Grep"]}
    assert read(person, "shipper").tools == {"allowed": ["Read", "Write", "Edit", "Glob", "Grep", "Bash"]}
    assert installed(person, "own") == agent("own")
    for command in ("ci", "audit", "install"):
        person.ok(command)


def test_consent_shows_every_right_and_every_server_of_a_strangers_agent(server: GitServer, person: Person) -> None:
    """A server under any program's key, and tools under any program's word, are what a person sees and agrees to."""
    files = {name: FILES[name] for name in (".codex/agents/ship.toml", ".opencode/agent/docs.md")}
    files["a.agent.md"] = "---\ndescription: x\nmcp-servers:\n  near: {command: curl}\n---\nText.\n"
    server.repository("team").commit(files)
    refused = person.run("add", f"git+{server.url('team')}", "--all", "--as", "team")
    assert refused.code != 0
    shown = refused.stdout + refused.stderr
    for words in ("npx", "curl", "every tool of the agent program"):
        assert words in shown, shown


def test_a_deploy_gives_the_agent_no_more_than_it_had(server: GitServer, person: Person) -> None:
    add(server, person, {name: FILES[name] for name in (".gemini/agents/looker.md", ".cursor/agents/judge.md")})
    person.ok("deploy", "--target", "claude", "--target", "gemini", "-y")
    assert "tools: Grep, Read\n" in person.path(".claude/agents/looker.md").read_text()
    assert "tools: Glob, Grep, Read\n" in person.path(".claude/agents/judge.md").read_text()
    assert "max_turns: 4" in person.path(".gemini/agents/looker.md").read_text()


def test_one_agent_for_several_programs_is_taken_once(server: GitServer, person: Person) -> None:
    said = add(
        server,
        person,
        {
            ".claude/agents/judge.md": CURSOR.replace("readonly: true\n", "tools: Read\n"),
            ".cursor/agents/judge.md": CURSOR,
            ".opencode/agents/judge.md": OPENCODE,
        },
    )
    assert read(person, "judge").tools == {"allowed": ["Read"]}
    assert "2 agents are here for several programs, and taken once" in said


@pytest.mark.parametrize(
    ("text", "why"),
    rest_thorough(
        1,
        [
            ("---\nname: x\n---\nText.\n", "it has no description"),
            ("---\ndescription: x\n---\n", "it has no text"),
            ("Only text.\n", "frontmatter"),
            ("---\ndescription: x\n  y: [\n---\nText.\n", "not valid YAML"),
            ("---\ndescription: x\ntools: {a: b}\n---\nText.\n", "its tools are neither names nor a list of names"),
            ("---\ndescription: x\n---\nHid\u202eden.\n", ""),
        ],
    ),
)
def test_what_is_no_agent_is_left_out_with_the_reason(server: GitServer, person: Person, text: str, why: str) -> None:
    said = add(server, person, {"a/SKILL.md": FILES["skills/pdf/SKILL.md"], ".claude/agents/x.md": text})
    assert "agent:x was left out: " in said
    assert why in said


def test_an_agent_that_is_used_in_place_cannot_be_converted(person: Person, tmp_path: Path) -> None:
    person.write("kit/.claude/agents/x.md", CLAUDE.replace("code-reviewer", "x"))
    refused = person.run("add", "./kit", "x", "--editable", "-y", "--json")
    assert refused.error["code"] == "source-item-unusable"
    assert "without --editable" in refused.error["message"]
    person.ok("add", "./kit", "x", "-y", "--json")
