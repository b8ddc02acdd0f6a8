"""Agents in programs' own forms become agents of Rye: the words of ``rye deploy``, read the other way."""

from __future__ import annotations

import pytest

from rye.deployment.rights import AgentRights
from rye.deployment.targets.protocol import AgentDraft, TargetOptions, all_targets, target
from rye.items.agent import reader
from rye.items.agent.conversion import NotConvertible, agent_id, convert
from rye.items.agent.model import Agent
from rye.items.agent.program_forms import FORMS, program_of
from rye.items.reading import ReadOptions, Source

GOLDEN = """---
name: "x"
displayName: "X Two"
whenToUse: "Use it when: now --\\u002d or \\"then\\""
tools: {"allowed": ["Read", "Glob", "Grep"]}
transitions: {"onSuccess": "complete"}
provider: {"name": "copilot", "model": "GPT-5"}
version: "1.2.0"
mcpServers: {"s": {"command": "c"}}
metadata: {"copilot": {"target": "vscode"}}
prompt: "body"
---

# One

## Two
"""


def read(data: bytes, name: str = "x") -> Agent:
    reading = reader.read(Source(data.decode(), name=name), ReadOptions())
    assert reading.value is not None, reading.diagnostics
    assert reading.ok
    return reading.value


def tools(program: str, text: str) -> dict[str, object] | None:
    converted = convert(program, "x", f"---\ndescription: d\n{text}\n---\nText.\n")
    assert converted is not None
    return read(converted.data).tools


def test_the_same_bytes_give_the_same_result_forever() -> None:
    """rye.lock has the hash of the result: change this and every project with such an agent fails in ci."""
    text = (
        '---\nname: X Two\ndescription: |\n  Use it when: now --- or "then"\ntools: [read, search]\nmodel: GPT-5\n'
        "version: 1.2.0\nmcp-servers: {s: {command: c}}\ntarget: vscode\n---\n\n# One\n\n## Two\n"
    )
    converted = convert("copilot", "x", text)
    assert converted is not None
    assert converted.data.decode() == GOLDEN
    assert converted.kept == ("target",)
    assert convert("copilot", "x", GOLDEN) is None


@pytest.mark.parametrize("program", [form.program for form in FORMS])
@pytest.mark.parametrize("allowed", [None, ("Read", "Glob", "Grep"), ("Bash", "Edit", "Glob", "Grep", "Read", "Write")])
def test_what_a_deploy_wrote_reads_as_the_same_rights(program: str, allowed: tuple[str, ...] | None) -> None:
    if program == "cursor" and allowed is not None and "Bash" in allowed:
        pytest.skip("Cursor has no word for it: read-only, or everything")
    draft = AgentDraft(
        name="x", description="When.", body="# A\n\n## B", mark="m", rights=AgentRights(allowed), turns=5, model="m-1",
        model_of=target(program).form.models_of,
    )  # fmt: skip
    made = target(program).agent(draft, TargetOptions("project", "x"))
    assert made.data is not None
    assert made.widenings == ()
    converted = convert(program, "x", made.data.decode())
    assert converted is not None
    agent = read(converted.data)
    assert agent.system_prompt == "# A\n\n## B"
    assert agent.when_to_use == "When."
    assert sorted((agent.tools or {}).get("allowed") or ()) == sorted(allowed or ())
    assert ((agent.tools or {}).get("allowed") is None) == (allowed is None)
    assert agent.maximums == ({"maxIterations": 5} if target(program).form.turns else {})
    assert agent.model_choice.get("model") == ("m-1" if target(program).form.models_of else None)


def test_every_program_of_the_table_has_an_adapter_with_its_form() -> None:
    assert {one.form.program for one in all_targets()} == {form.program for form in FORMS}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("tools: {write: false, bash: false}", {"blocked": ["Write", "Edit", "Bash"]}),
        ("tools: {'*': false, read: true}", {"allowed": ["Read"]}),
        ("permission: deny", {"allowed": []}),
        ("permission: {edit: ask}", {"blocked": ["Write", "Edit"]}),
        ("permission: {edit: deny, '*': allow}", None),
        ("permission: {bash: {'*': ask, 'git log*': allow}}", {"bashFilter": {"allowedCommands": ["git log"]}}),
        ("permission: {bash: {'*': allow, 'rm *': deny}}", {"blocked": ["Bash"]}),
        ("permission: {bash: {'git *': allow, '*': deny}}", {"blocked": ["Bash"]}),
        ("permission: {bash: {'*': deny, 'g?t *': allow}}", {"blocked": ["Bash"]}),
        ("permission: {read: {'*': deny, 'docs/*': allow}}", {"blocked": ["Read"]}),
        ("permission: {'*': deny, bash: {}}", {"allowed": []}),
    ],
)
def test_permissions_of_opencode_never_become_more(text: str, expected: object) -> None:
    """What asks, and what only some commands may do in a way that Rye cannot say, is denied."""
    assert tools("opencode", text) == expected


@pytest.mark.parametrize(
    ("program", "text", "expected"),
    [
        ("claude", "tools: Read, Bash(git log:*, x), mcp__a__b", ["Read", "Bash(git log:*, x)", "mcp__a__b"]),
        ("claude", "tools:\n  - Read\n  - Grep", ["Read", "Grep"]),
        ("claude", "tools: ''", []),
        ("claude", "tools: []", []),
        ("copilot", "tools: [Edit, 'vscode/openFile']", ["Write", "Edit", "vscode/openFile"]),
        ("gemini", "tools: [replace, list_directory, mcp_x_*]", ["Edit", "list_directory", "mcp_x_*"]),
        ("claude", "tools: '*'", None),
        ("claude", "tools:", None),
    ],
)
def test_words_that_only_the_program_has_stay_as_they_are(program: str, text: str, expected: object) -> None:
    assert (tools(program, text) or {}).get("allowed") == expected


@pytest.mark.parametrize("text", ["tools: 5", "tools: [1]", "tools: {a: b}"])
def test_tools_that_are_no_words_are_refused(text: str) -> None:
    with pytest.raises(NotConvertible):
        tools("copilot", text)


def test_a_sandbox_that_the_program_does_not_have_is_refused() -> None:
    with pytest.raises(NotConvertible):
        convert("codex", "x", 'description = "d"\nsandbox_mode = "no"\ndeveloper_instructions = "t"\n')


@pytest.mark.parametrize(
    "yaml",
    [
        "description: Use it: now\nhooks:\n  Stop: x",
        "description: Use it: now\ntools: Read\ntools: Bash",
        "description: Use it: now\nnote: |",
    ],
)
def test_broken_yaml_is_read_by_lines_only_where_lines_are_all_there_is(yaml: str) -> None:
    with pytest.raises(NotConvertible):
        convert("claude", "x", f"---\n{yaml}\n---\nText.\n")


_LONG = """description: Use it to learn: now. Examples:

<example>
Context: A question
user: "How?"
assistant: "I'll ask: so."
<commentary>
# Not a comment
</commentary>
</example>
{text}
tools: Read
model: opus"""


def test_a_description_goes_on_over_lines_until_the_next_key() -> None:
    converted = convert("claude", "x", f"---\n{_LONG.format(text='')}\n---\nText.\n")
    assert converted is not None
    assert converted.by_lines
    agent = read(converted.data)
    assert agent.tools == {"allowed": ["Read"]}
    assert agent.when_to_use.startswith("Use it to learn: now. Examples:\n\n<example>\nContext: A question\nuser:")
    assert agent.when_to_use.endswith("# Not a comment\n</commentary>\n</example>")


@pytest.mark.parametrize(
    "text",
    [
        "tools: Bash",  # given twice
        "'tools': Bash",
        '"tools" : Bash',
        "tools : Bash",
        "Tools: Bash",
        "  tools: Bash",
        "? tools",
        "- tools: Bash",
        "{tools: Bash}",
        "**Tools**: Bash",
        "disallowed-tools: Bash",
        "PermissionMode: plan",
        "permission: deny",
        "sandbox: strict",  # a key that only a later version has
        "  network: none",
        "<example>\nmodel: haiku\n</example>",
        "<example>",  # never closed
        "name: y\nMore text",
        "note: |",
    ],
)
def test_a_line_that_could_limit_an_agent_is_never_taken_for_text(text: str) -> None:
    yaml = _LONG.format(text=text) if not text.startswith("?") else _LONG.format(text=f"{text}\n: Bash")
    with pytest.raises(NotConvertible, match="not valid YAML"):
        convert("claude", "x", f"---\n{yaml}\n---\nText.\n")


@pytest.mark.parametrize("start", ['"Use: it', "'Use: it", "|", ">-", "[a", "{a: b", "&a Use: it", "!!str Use: it"])
def test_only_a_plain_description_goes_on(start: str) -> None:
    """Everything else has an end of its own, which these lines may not be before."""
    with pytest.raises(NotConvertible):
        convert("claude", "x", f"---\ndescription: {start}\nmore: text: here\nand so on\ntools: Read\n---\nText.\n")


@pytest.mark.parametrize(
    "denied",
    [
        *("Bash # no shell", "\n  - Bash # no shell", "!!str Bash", '"Bash"x', "[Bash", "- Bash", "`Bash`", "#Bash"),
        "{Bash: true}",
    ],
)
def test_a_line_that_yaml_reads_in_another_way_blocks_no_tool_by_half(denied: str) -> None:
    with pytest.raises(NotConvertible):
        convert("claude", "x", f"---\nname: x\ndescription: a: b\ndisallowedTools: {denied}\n---\nText.\n")


@pytest.mark.parametrize("denied", ["{Bash: true}", "3"])
def test_what_denies_no_tools_by_name_is_refused(denied: str) -> None:
    with pytest.raises(NotConvertible):
        convert("claude", "x", f"---\nname: x\ndescription: d\ndisallowedTools: {denied}\n---\nText.\n")


@pytest.mark.parametrize("program", ["copilot", "opencode", "gemini", "cursor"])
def test_other_programs_descriptions_have_one_line(program: str) -> None:
    with pytest.raises(NotConvertible):
        convert(program, "x", f"---\n{_LONG.format(text='')}\n---\nText.\n")


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("CSharpExpert", "csharpexpert"),
        ("4.1-Beast", "agent-4-1-beast"),
        ("complete", "agent-complete"),
        ("con", "agent-con"),
    ],
)
def test_names_become_ids(stem: str, name: str) -> None:
    assert agent_id(stem) == name


@pytest.mark.parametrize(
    ("path", "program"),
    [
        (".claude/agents/x.md", "claude"),
        ("a/b/.claude/agents/c/x.md", "claude"),
        ("x/y.agent.md", "copilot"),
        (".github/agents/x.md", "copilot"),
        (".opencode/agent/x.md", "opencode"),
        (".codex/agents/x.toml", "codex"),
        (".codex/agents/x.md", None),
        ("docs/agents/x.md", None),
        ("not.claude/agents/x.md", None),
    ],
)
def test_places(path: str, program: str | None) -> None:
    assert program_of(path) == program
