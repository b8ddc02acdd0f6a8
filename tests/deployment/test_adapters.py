"""What each program is told about an agent's rights, as values: never wider than the item unless approved
(design/agents.md 1).
"""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

from rye.deployment.rendering import bound_server
from rye.deployment.rights import AgentRights, rights_of
from rye.deployment.targets.protocol import AgentDraft, AgentText, TargetOptions, target
from rye.deployment.written_forms import sentences, toml
from rye.errors import UsageError
from rye.items.agent_tools import agent_tools
from rye.project.agent_programs import PROGRAMS, is_deploy_place, is_shared_file, program_names
from rye.text.yaml_reading import read_yaml
from tests.scenes.effort import rest_thorough

OPTIONS = TargetOptions("project", "x")
READ = ("Glob", "Grep", "Read")
FILES = ("Bash", "Edit", "Glob", "Grep", "Read", "Write")
EVERY = (*FILES, "WebFetch", "WebSearch")


def draft(rights: AgentRights, **more: Any) -> AgentDraft:
    return AgentDraft(
        name="x",
        description='Says "hello": --- and\tmore',
        body="Be good.",
        mark="rye:deployed agent:a/x@1.0.0",
        rights=rights,
        **more,
    )


def made(name: str, rights: AgentRights, **more: Any) -> tuple[dict[str, Any], AgentText]:
    """The fields that the program reads, and all written fields."""
    found = target(name).agent(draft(rights, **more), OPTIONS)
    assert found.data is not None
    text = found.data.decode()
    assert "rye:deployed" in text.split("\n")[1 if text.startswith("---") else 0]
    if name == "codex":
        return tomllib.loads(text), found
    head, _, body = text.removeprefix("---\n").partition("\n---\n")
    assert body.strip() == "Be good."
    fields = read_yaml(head).value
    assert isinstance(fields, dict)
    return fields, found


@pytest.mark.parametrize("name", program_names())
def test_what_an_author_wrote_stays_in_its_field(name: str) -> None:
    fields, _ = made(name, AgentRights())
    assert fields["description"] == 'Says "hello": --- and\tmore'
    assert fields.get("name", "x") == "x"


@pytest.mark.parametrize("name", program_names())
def test_an_agent_without_tools_names_none(name: str) -> None:
    fields, found = made(name, AgentRights())
    assert not {"tools", "disallowedTools", "sandbox_mode", "permission", "readonly"} & set(fields)
    assert found.widenings == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude", {"tools": "Glob, Grep, Read"}),
        ("codex", {"sandbox_mode": "read-only"}),
        ("copilot", {"tools": ["read", "search"]}),
        ("cursor", {"readonly": True}),
        ("gemini", {"tools": ["read_file", "glob", "grep_search"]}),
        (
            "opencode",
            {
                "permission": {
                    "*": "deny",
                    "read": {"*": "allow", "*.env": "deny", "*.env.*": "deny", "*.env.example": "allow"},
                    "glob": "allow",
                    "grep": "allow",
                }
            },
        ),
    ],
)
def test_reading_alone_can_be_said_everywhere(name: str, expected: dict[str, Any]) -> None:
    fields, found = made(name, AgentRights(READ))
    assert {key: fields[key] for key in expected} == expected
    assert found.widenings == ()


def test_order_matters_to_opencode() -> None:
    """The last matching pattern wins: first deny everything; secrets come after the read permission."""
    fields, _ = made("opencode", AgentRights(READ))
    assert next(iter(fields["permission"])) == "*"
    assert list(fields["permission"]["read"])[:3] == ["*", "*.env", "*.env.*"]


@pytest.mark.slow
@pytest.mark.parametrize("name", program_names())
@pytest.mark.parametrize("blocked", rest_thorough(1, [((),), (("Bash",),)]))
def test_no_program_gets_a_tool_that_is_not_allowed_without_a_question(name: str, blocked: tuple[str, ...]) -> None:
    """For every set of tools: the file grants exactly the set, or the deploy is refused until someone agrees."""
    for number in range(2 ** len(EVERY)):
        allowed = tuple(tool for bit, tool in enumerate(EVERY) if number >> bit & 1)
        rights = AgentRights(allowed, blocked)
        fields, found = made(name, rights)
        if not found.widenings:
            assert granted(name, fields) == set(rights.names), (allowed, fields)


def granted(name: str, fields: dict[str, Any]) -> set[str]:
    """What the written fields grant, as the program reads them: an absent field grants everything."""
    if name == "claude":
        if "tools" not in fields:
            return set(EVERY)
        return set(fields["tools"].split(", ")) - set(fields.get("disallowedTools", "").split(", "))
    if name == "codex":
        return set({"read-only": READ, "workspace-write": FILES}.get(fields.get("sandbox_mode", ""), EVERY))
    if name == "cursor":
        return set(READ) if fields.get("readonly") else set(EVERY)
    words = {
        "copilot": {
            "read": "Read",
            "edit": "Write Edit",
            "search": "Glob Grep",
            "execute": "Bash",
            "web": "WebFetch WebSearch",
        },
        "gemini": {
            "read_file": "Read",
            "write_file": "Write",
            "replace": "Edit",
            "glob": "Glob",
            "grep_search": "Grep",
            "run_shell_command": "Bash",
            "web_fetch": "WebFetch",
            "google_web_search": "WebSearch",
        },
        "opencode": {
            "read": "Read",
            "edit": "Write Edit",
            "glob": "Glob",
            "grep": "Grep",
            "bash": "Bash",
            "webfetch": "WebFetch",
            "websearch": "WebSearch",
        },
    }[name]
    if name == "opencode":
        assert next(iter(fields["permission"].items())) == ("*", "deny")
        said = [word for word, value in fields["permission"].items() if word != "*" and value != "deny"]
    else:
        if "tools" not in fields:
            return set(EVERY)
        said = fields["tools"]
    return {tool for word in said for tool in words[word].split()}


@pytest.mark.parametrize(
    ("name", "rights", "field"),
    [
        ("claude", AgentRights(("Bash(git:*)", "Read")), "tools.allowed"),
        ("claude", AgentRights(None, ("Bash(rm:*)",)), "tools.blocked"),
        ("copilot", AgentRights(("Read", "Write")), "tools.allowed"),
        ("copilot", AgentRights(("Glob",)), "tools.allowed"),
        ("copilot", AgentRights(("TodoWrite",)), "tools.allowed"),
        ("opencode", AgentRights(("Edit",)), "tools.allowed"),
        ("gemini", AgentRights(("Task",)), "tools.allowed"),
        ("codex", AgentRights(("Read",)), "tools.allowed"),
        ("codex", AgentRights((*READ, "WebFetch")), "tools.allowed"),
        ("cursor", AgentRights(("Read", "Write")), "tools.allowed"),
        ("copilot", AgentRights(None, ("Bash",)), "tools.blocked"),
        ("codex", AgentRights(None, ("Bash",)), "tools.blocked"),
        ("cursor", AgentRights(None, ("Bash",)), "tools.blocked"),
        ("gemini", AgentRights(None, ("Bash",)), "tools.blocked"),
        ("opencode", AgentRights(None, ("TodoWrite",)), "tools.blocked"),
        *[
            (name, AgentRights(EVERY, commands=("git",)), "tools.bashFilter.allowedCommands")
            for name in program_names()
            if name != "opencode"
        ],
        *[(name, AgentRights(EVERY, patterns=("rm -rf",)), "tools.bashFilter.blockedPatterns") for name in program_names()],
        *[(name, AgentRights(patterns=("sudo",)), "tools.bashFilter.blockedPatterns") for name in program_names()],
    ],
)  # fmt: skip
def test_what_a_program_cannot_say_is_a_widening(name: str, rights: AgentRights, field: str) -> None:
    found = target(name).agent(draft(rights), OPTIONS)
    assert field in {one.field for one in found.widenings}
    assert {one.code for one in found.widenings} == {"deploy-inexpressible"}


def test_a_filter_of_bash_is_nothing_to_an_agent_without_bash() -> None:
    for name in program_names():
        assert target(name).agent(draft(AgentRights(READ, commands=("git",), patterns=("x",))), OPTIONS).widenings == ()


def test_a_star_is_every_tool() -> None:
    assert rights_of(agent_tools(["*"])) == AgentRights() == rights_of(None)
    assert rights_of(agent_tools(["*"], ["Bash"])) == AgentRights(None, ("Bash",))


def test_opencode_allows_only_the_listed_commands() -> None:
    fields, found = made("opencode", AgentRights(("Bash",), commands=("git", "ls")))
    assert fields["permission"] == {
        "*": "deny",
        "bash": {"*": "deny", "git": "allow", "git *": "allow", "ls": "allow", "ls *": "allow"},
    }
    assert found.widenings == ()


def test_blocked_tools_of_an_agent_that_has_all_others() -> None:
    assert made("claude", AgentRights(None, ("Bash",)))[0]["disallowedTools"] == "Bash"
    fields, found = made("opencode", AgentRights(None, ("Bash", "Write")))
    assert fields["permission"] == {"*": "allow", "edit": "deny", "bash": "deny"}
    assert "'edit' is denied as a whole" in found.notes[0]


def test_no_tools_at_all_is_not_all_tools() -> None:
    fields, _ = made("claude", AgentRights(()))
    assert (fields["tools"], fields["disallowedTools"]) == ("Read", "Read")
    assert made("copilot", AgentRights(()))[0]["tools"] == []
    assert made("gemini", AgentRights(()))[0]["tools"] == []
    assert made("opencode", AgentRights(()))[0]["permission"] == {"*": "deny"}


SERVER = bound_server("x", "acme/work/ship", "1.0.0")


def test_a_bound_agent_has_the_server_s_tools_and_no_others() -> None:
    def bound(name: str) -> dict[str, Any]:
        return made(name, AgentRights(()), server=SERVER)[0]

    words = ["mcp", "serve", "--as", "acme/work/ship@1.0.0"]
    command = {"command": "rye", "args": words, "env": {"RYE_BINDING": "exclusive"}}
    claude = bound("claude")
    assert claude["mcpServers"] == [{"rye-x": {"type": "stdio", "alwaysLoad": True, **command}}]
    assert all(tool.startswith("mcp__rye-x__rye_") for tool in claude["tools"].split(", "))
    assert bound("copilot")["tools"] == ["rye-x/*"]
    assert bound("copilot")["mcp-servers"]["rye-x"] == {"type": "local", **command, "tools": ["*"]}
    assert bound("gemini")["tools"] == ["mcp_rye-x_*"]
    assert bound("gemini")["mcp_servers"] == {"rye-x": command}
    assert bound("opencode")["permission"] == {"*": "deny", "rye-x_*": "allow"}


def test_opencode_denies_the_server_s_tools_to_everybody_else() -> None:
    edits = target("opencode").agent(draft(AgentRights(()), server=SERVER), OPTIONS).edits
    values = {edit.key: json.loads(edit.text) for edit in edits}
    assert values["permission", "rye-x_*"] == "deny"
    assert values["mcp", "rye-x"]["command"] == ["rye", "mcp", "serve", "--as", "acme/work/ship@1.0.0"]
    assert values["mcp", "rye-x"]["environment"] == {"RYE_BINDING": "exclusive"}


@pytest.mark.parametrize("name", ["codex", "cursor"])
def test_a_program_that_cannot_hold_a_bound_agent_gets_none(name: str) -> None:
    found = target(name).agent(draft(AgentRights(()), server=SERVER), OPTIONS)
    assert found.data is None
    assert found.refusals[0].code == "deploy-inexpressible"


@pytest.mark.parametrize(
    "body", ["One.\n\nTwo.", 'a"""\nsandbox_mode = "x"', "\\\n\\", '"\n"""\n"', "\nfirst", "last\n", "a\r\nb\x7f"]
)
def test_instructions_of_several_lines_read_back_as_they_are(body: str) -> None:
    written = toml("rye:deployed x", {"name": "x", "developer_instructions": body, "sandbox_mode": "read-only"})
    assert tomllib.loads(written.decode()) == {"name": "x", "developer_instructions": body, "sandbox_mode": "read-only"}
    assert written.decode().count("\n") == body.count("\n") + 5


def test_a_target_that_is_none_is_named_with_the_ones_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        target("claud")
    assert (caught.value.code, caught.value.details["what"], caught.value.hint) == (
        "unknown-name",
        "target",
        "Did you mean 'claude'?",
    )


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_the_table_names_every_place_that_an_adapter_writes(program: Any) -> None:
    """Rules of the journal (rye.installation.transaction): a place missing from the table is not undone after a crash."""
    one = target(program.name)
    assert one.name == program.name
    assert one.adapter.startswith(f"{program.name}/")
    for places in one.places.values():
        for folder in (places.skills, places.agents, places.knowledge):
            assert is_deploy_place(f"{folder}/x/y.md"), folder
        for file in (*places.settings, *([places.index] if places.index else [])):
            assert is_shared_file(file)
            assert is_deploy_place(file)


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        ".git/hooks/pre-commit",
        ".claude/settings.json",
        ".claude/skills/../settings.json",
        ".claude/skills/x/.hidden",
        ".Claude/skills/x/SKILL.md",
        "/etc/passwd",
        "../AGENTS.md",
        ".claude/skills",
        ".ai/deploy.lock/x",
        ".claude\\skills\\x",
    ],
)
def test_no_other_place_is_one_of_a_deploy(path: str) -> None:
    assert not is_deploy_place(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Use it when:\n- a change needs review\n- a test fails\n", "Use it when: a change needs review; a test fails"),
        ("Use it when:\n  * it fails.\n  * it hangs.", "Use it when: it fails. it hangs."),
        ("1. First\n2) then", "First; then"),
        ("One sentence\nover two lines.", "One sentence over two lines."),
        ("-5 degrees\n\n- \n", "-5 degrees"),
        ("", ""),
    ],
)
def test_a_list_of_occasions_reads_as_sentences(text: str, said: str) -> None:
    assert sentences(text) == said
