"""Agents: the schema and the prompt (SPEC-0006; DECISIONS Agents 1 to 8, 11, 12)."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.items.agent.model import Agent
from rye.items.agent.prompt import extract_prompt
from rye.items.agent.reader import as_json, read, template
from rye.items.agent_tools import agent_tools
from rye.items.reading import Reading, ReadOptions, Source
from rye.text.diagnostics import Diagnostic
from tests.scenes.effort import tries
from tests.scenes.shared_data import shared

EXAMPLES = tries(80, 1000)
BODY = "\n# Dev\n\n## System Prompt\n\nDo it.\n"
BASE = "name: dev\nwhenToUse: always\ntransitions:\n  onSuccess: complete\n"


def parse(yaml: str, body: str = BODY, **options: Any) -> Reading[Agent]:
    return read(Source(f"---\n{yaml}---\n{body}", "dev.md", "dev", ""), ReadOptions(**options))


def found(reading: Reading[Agent], severity: str = "error") -> list[tuple[str, int | None]]:
    return [(d.code, d.line) for d in reading.diagnostics if d.severity == severity]


def messages(reading: Reading[Agent]) -> str:
    return "\n".join(f"{d.severity} {d.message} {d.hint or ''}" for d in reading.diagnostics)


def agent(reading: Reading[Agent]) -> Agent:
    assert isinstance(reading.value, Agent), messages(reading)
    return reading.value


def test_the_least_that_is_an_agent() -> None:
    reading = parse(BASE)
    assert reading.diagnostics == ()
    value = agent(reading)
    assert (value.name, value.display_name, value.system_prompt) == ("dev", "dev", "Do it.")
    assert value.transitions == {"onSuccess": "complete"}
    assert value.resolved_targets == {"onFailure": "dev", "onSuccess": "complete"}
    assert (value.tools, value.limits, value.provider, value.metadata) == (None, None, None, None)


# --- 1, 12: frontmatter -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# no frontmatter\n", 1),
        ("\n---\nname: dev\n---\n", 1),
        ("---\nname: dev\n", 1),
        ("---\n---\nx", 2),
        ("---\n- a\n---\n", 2),
        ("---\ntext\n---\n", 2),
        ("---\nname: dev\nname: dev\n---\n", 3),
        ("---\nname: !!str dev\n---\n", 2),
        ("---\nname: [\n---\n", 2),
    ],
)
def test_frontmatter_that_is_none(text: str, line: int) -> None:
    reading = read(Source(text), ReadOptions())
    assert reading.value is None
    ((code, where),) = found(reading)
    assert code == "A01"
    assert where is not None
    assert abs(where - line) <= 1


def test_markers_with_trailing_blanks_and_the_signature_on_line_2() -> None:
    text = f"---  \n# rye:signed:x\n{BASE}--- \t\n{BODY}"
    assert agent(read(Source(text, name="dev"), ReadOptions())).name == "dev"


def test_a_merge_key_is_an_ordinary_unknown_key() -> None:
    reading = parse(BASE + "<<: {displayName: Stolen}\n")
    assert agent(reading).display_name == "dev"
    assert found(reading, "warning") == [("A05", 6)]


# --- 2: names ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["1dev", "-dev", "_dev", "de v", "dév", "dev!", "dev/ops", "dev.ops", "'dev\\n'", "''", "' '"]
)
def test_names_that_match_nowhere(name: str) -> None:
    reading = parse(BASE.replace("dev", name))
    assert reading.value is None
    assert found(reading) == [("A02", 2)]


@pytest.mark.parametrize("name", ["5", "true", "null", "[dev]", "{a: b}", "~"])
def test_names_of_other_types(name: str) -> None:
    assert found(parse(BASE.replace("dev", name))) == [("A02", 2)]


def test_a_missing_name() -> None:
    assert found(parse(BASE.replace("name: dev\n", ""))) == [("A02", 2)]


@pytest.mark.parametrize("name", ["Dev", "DEV", "other", "d" * 65, "con"])
def test_names_that_can_be_read_but_not_published(name: str) -> None:
    reading = parse(BASE.replace("dev", name))
    assert agent(reading).name == name
    assert found(reading) == []
    assert {code for code, _ in found(reading, "warning")} == {"A02"}
    assert {code for code, _ in found(parse(BASE.replace("dev", name), publishing=True))} == {"A02"}


def test_the_name_of_64_characters_is_fine() -> None:
    name = "d" * 64
    source = Source(f"---\n{BASE.replace('dev', name)}---\n{BODY}", name=name)
    assert read(source, ReadOptions(publishing=True)).diagnostics == ()


@pytest.mark.parametrize("name", ["complete", "Complete"])
def test_complete_is_no_agents_name(name: str) -> None:
    reading = read(Source(f"---\n{BASE.replace('dev', name)}---\n{BODY}"), ReadOptions())
    assert ("A07", 2) in found(reading)


# --- 3: texts ---------------------------------------------------------------------------------------------------------


def test_when_to_use_as_a_list_is_joined_by_newlines() -> None:
    assert agent(parse(BASE.replace("always", "[one, two]"))).when_to_use == "one\ntwo"


@pytest.mark.parametrize(
    "value", ["''", "'  '", "|\n  ", "[]", "['']", "5", "true", "null", "{a: b}", "[1, 2]", "[a, null]"]
)
def test_when_to_use_that_is_none(value: str) -> None:
    reading = parse(BASE.replace("always", value))
    assert reading.value is None
    assert {code for code, _ in found(reading)} == {"A03"}


def test_a_missing_when_to_use() -> None:
    assert found(parse(BASE.replace("whenToUse: always\n", ""))) == [("A03", 2)]


@pytest.mark.parametrize("value", ["null", "5", "[a]", "true", ""])
def test_a_null_or_foreign_display_name_is_an_error(value: str) -> None:
    assert found(parse(BASE + f"displayName: {value}\n")) == [("A03", 6)]


# --- 4: numbers and null ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", 1), ("20.0", 20), ("3e5", 300_000), ("012", 12), ("0x10", 16), ("9007199254740991", 2**53 - 1), ("+5", 5)],
)
def test_whole_numbers(text: str, number: int) -> None:
    limits = agent(parse(BASE + f"limits:\n  timeout: {text}\n")).limits
    assert limits == {"timeout": number}
    assert type(limits["timeout"]) is int


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "-1",
        "1.5",
        "true",
        "false",
        "'5'",
        "null",
        "",
        "~",
        ".inf",
        ".nan",
        "9007199254740992",
        "1e300",
        "1_000",
        "[1]",
        "0.0",
    ],
)
@pytest.mark.parametrize("key", ["maxIterations", "timeout", "maxTokens"])
def test_numbers_that_are_none(text: str, key: str) -> None:
    reading = parse(BASE + f"limits:\n  {key}: {text}\n")
    assert found(reading) == [("A04", 7)]
    assert f"limits.{key}" in messages(reading)


@pytest.mark.parametrize("key", ["tools", "limits", "provider", "metadata"])
@pytest.mark.parametrize("null", ["", "null", "~"])
def test_a_null_section_is_absent_with_a_warning(key: str, null: str) -> None:
    reading = parse(BASE + f"{key}: {null}\n")
    assert getattr(agent(reading), key) is None
    assert found(reading) == []
    assert found(reading, "warning") == [("A04", 6)]


def test_a_null_bash_filter_is_absent_too() -> None:
    reading = parse(BASE + "tools:\n  allowed: [Bash]\n  bashFilter:\n")
    assert agent(reading).tools == {"allowed": ["Bash"]}
    assert found(reading, "warning") == [("A04", 8)]


@pytest.mark.parametrize(
    "yaml",
    [
        "transitions:\n",
        "transitions: null\n",
        "transitions: []\n",
        "transitions: tester\n",
        "transitions: {}\n",
        "transitions: {onFailure: a}\n",
        "transitions: {onSuccess: null}\n",
        "transitions: {onSuccess: ''}\n",
        "transitions: {onSuccess: 5}\n",
        "transitions: {onSuccess: [a]}\n",
        "transitions: {onSuccess: a, onFailure: null}\n",
        "transitions: {onSuccess: a, onMaxIterations: true}\n",
        "",
    ],
)
def test_transitions_that_are_none(yaml: str) -> None:
    reading = parse("name: dev\nwhenToUse: always\n" + yaml)
    assert reading.value is None
    assert {code for code, _ in found(reading)} == {"A07"}


@pytest.mark.parametrize(
    ("yaml", "line", "words"),
    [
        ("tools: [Read]\n", 6, "tools must be a mapping"),
        ("limits: 5\n", 6, "limits must be a mapping"),
        ("tools:\n  allowed: Read\n", 7, "tools.allowed must be a list"),
        ("tools:\n  allowed:\n", 7, "tools.allowed must be a list of strings, not null"),
        ("tools:\n  allowed:\n    - Read\n    - 5\n", 9, "tools.allowed[1]"),
        ("tools:\n  allowed: [null]\n", 7, "tools.allowed[0]"),
        ("tools:\n  allowed: [Bash]\n  bashFilter:\n    allowedCommands: ls\n", 9, "bashFilter.allowedCommands"),
        ("tools:\n  allowed: [Bash]\n  bashFilter:\n    blockedPatterns: [1]\n", 9, "bashFilter.blockedPatterns[0]"),
        ("provider: claude\n", 6, "provider must be a mapping"),
        ("provider: {}\n", 6, "provider.name is missing"),
        ("provider:\n  name: gemini\n", 7, "claude or copilot"),
        ("provider:\n  name: Claude\n", 7, "claude or copilot"),
        ("provider:\n  name: claude\n  model: null\n", 8, "provider.model"),
        ("provider:\n  name: claude\n  model: 4\n", 8, "quotes"),
        ("metadata: x\n", 6, "metadata must be a mapping"),
        ("metadata:\n  category: 5\n", 7, "metadata.category"),
        ("metadata:\n  priority: high\n", 7, "metadata.priority"),
        ("metadata:\n  priority: true\n", 7, "metadata.priority"),
        ("metadata:\n  tags: code\n", 7, "metadata.tags"),
        ("metadata:\n  version: latest\n", 7, "metadata.version"),
        ("metadata:\n  dependencies: [nope nope]\n", 7, "metadata.dependencies[0]"),
    ],
)
def test_type_errors_name_path_and_line(yaml: str, line: int, words: str) -> None:
    reading = parse(BASE + yaml)
    assert [where for _, where in found(reading)] == [line]
    assert words in messages(reading)


# --- 5: unknown keys --------------------------------------------------------------------------------------------------


def test_unknown_keys_are_kept_with_a_warning() -> None:
    reading = parse(BASE + "color: blue\nlimits:\n  retries: 2\nmetadata:\n  anything: [1]\n")
    assert found(reading) == []
    assert found(reading, "warning") == [("A05", 6), ("A05", 8)]
    value = agent(reading)
    assert (value.extra, value.limits, value.metadata) == ({"color": "blue"}, {"retries": 2}, {"anything": [1]})


@pytest.mark.parametrize(
    ("yaml", "meant"),
    [
        ("displayname: x\n", "displayName"),
        ("display_name: x\n", "displayName"),
        ("when-to-use: x\n", "whenToUse"),
        ("tool: {}\n", "tools"),
        ("limit: {}\n", "limits"),
        ("metdata: {}\n", "metadata"),
        ("limits:\n  maxIteration: 5\n", "maxIterations"),
        ("limits:\n  timeOut: 5\n", "timeout"),
        ("tools:\n  alowed: []\n", "allowed"),
        ("tools:\n  bash_filter: {}\n", "bashFilter"),
        ("tools:\n  bashFilter:\n    blockedPattern: []\n", "blockedPatterns"),
        ("provider:\n  name: claude\n  modle: x\n", "model"),
    ],
)
def test_near_misses_are_errors_that_say_what_was_meant(yaml: str, meant: str) -> None:
    reading = parse(BASE + yaml)
    assert [code for code, _ in found(reading)] == ["A05"]
    assert f"Did you mean {meant}?" in messages(reading)


def test_the_misspelled_transition_of_the_rule() -> None:
    reading = parse("name: dev\nwhenToUse: x\ntransitions:\n  onSuccess: complete\n  onFailur: x\n")
    assert found(reading) == [("A05", 6)]
    reading = parse("name: dev\nwhenToUse: x\ntransitions:\n  onSucess: complete\n")
    assert ("A05", 5) in found(reading)


# --- 8: tools ---------------------------------------------------------------------------------------------------------


def test_known_tools_pass_and_unknown_ones_warn() -> None:
    known = "[Read, Write, Edit, Glob, Grep, Bash, WebFetch, WebSearch]"
    assert parse(BASE + f"tools:\n  allowed: {known}\n").diagnostics == ()
    reading = parse(BASE + "tools:\n  allowed: [Raed, Deploy]\n  blocked: [Nuke]\n")
    assert found(reading) == []
    assert found(reading, "warning") == [("A08", 7), ("A08", 7), ("A08", 8)]
    assert "Did you mean Read?" in messages(reading)


def test_rye_toml_adds_tools() -> None:
    assert parse(BASE + "tools:\n  allowed: [Deploy]\n", tools=frozenset(["Deploy"])).diagnostics == ()


def test_a_tool_in_both_lists_warns() -> None:
    reading = parse(BASE + "tools:\n  allowed: [Read]\n  blocked: [Read]\n")
    assert found(reading, "warning") == [("A08", 8)]


@pytest.mark.parametrize(
    "tools", ["allowed: [Read]", "allowed: []", "blocked: [Bash]", "allowed: [Bash]\n  blocked: [Bash]"]
)
def test_a_bash_filter_without_bash_warns(tools: str) -> None:
    reading = parse(BASE + f"tools:\n  {tools}\n  bashFilter:\n    allowedCommands: [ls]\n")
    assert found(reading) == []
    assert "bashFilter has no effect" in messages(reading)


# --- 6, 12: the prompt ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "prompt"),
    [
        ("## System Prompt\n\nA\n", "A"),
        ("## System Prompt\nA\n", "A"),
        ("## system PROMPT ##\n\nA\n", "A"),
        ("   ## System Prompt   \n\n\n\nA\n\n\n", "A"),
        ("# T\n\nintro\n\n## Other\n\nx\n\n## System Prompt\n\nA\n\n## After\n\ny\n", "A"),
        ("## System Prompt\n\nA\n\n# H1 ends it\n\ny\n", "A"),
        ("## System Prompt\n\nA\n\n### Sub\n\nB\n\n#### Deep\nC\n## End\n", "A\n\n### Sub\n\nB\n\n#### Deep\nC"),
        ("## System Prompt\n\nA\n\n---\n\nB\n", "A"),
        ("## System Prompt\n\nA\n\n-----\t \n\nB\n", "A"),
        ("## System Prompt\n\nA\n\n***\n\nB\n", "A\n\n***\n\nB"),
        ("## System Prompt\n\nA\n\n- - -\n\nB\n", "A\n\n- - -\n\nB"),
        ("## System Prompt\n\nA\n\n___\n\nB\n", "A\n\n___\n\nB"),
        ("## System Prompt\n\nSetext\n---\n\nB\n", "Setext\n---\n\nB"),
        ("## System Prompt\n\nSetext\n===\n\nB\n", "Setext\n===\n\nB"),
        ("## System Prompt\n\n```\n## no end\n\n---\n```\nB\n", "```\n## no end\n\n---\n```\nB"),
        ("## System Prompt\n\n~~~~\n~~~\n## no end\n~~~~\n## End", "~~~~\n~~~\n## no end\n~~~~"),
        ("## System Prompt\n\n<!--\n## no end\n-->\nB\n", "<!--\n## no end\n-->\nB"),
        (
            "## System Prompt\n\n> ## no end\n\n- ## no end\n\n  ## no end\n\nB\n",
            "> ## no end\n\n- ## no end\n\n  ## no end\n\nB",
        ),
        ("## System Prompt\n\n    ## code\n\nB\n", "## code\n\nB"),
        ("```\n## System Prompt\n\nfake\n```\n\n## System Prompt\n\nreal\n", "real"),
        ("<!--\n## System Prompt\n\nfake\n-->\n\n## System Prompt\n\nreal\n", "real"),
        ("System Prompt\n---\n\nfake\n\n## System Prompt\n\nreal\n", "real"),
        ("## System Prompt\n\nlast line without an end", "last line without an end"),
        ("## System Prompt\n\nz and \\z stay\n\nzebra\n", "z and \\z stay\n\nzebra"),
        ("## System Prompt\n\n#hashtag\n##nospace\n####### seven\n", "#hashtag\n##nospace\n####### seven"),
    ],
)
def test_where_the_prompt_begins_and_ends(body: str, prompt: str) -> None:
    reading = parse(BASE, body)
    assert agent(reading).system_prompt == prompt
    assert reading.diagnostics == ()


@pytest.mark.parametrize(
    ("body", "prompt"),
    [
        ("# T\n\nAll of it.\n", "All of it."),
        ("All of it.\n", "All of it."),
        ("before\n\n# T\n\nafter\n\n## Notes\n\nnot this\n", "before\n\n\nafter"),
        ("# T\n\nA\n\n### System Prompt\n\nB\n", "A\n\n### System Prompt\n\nB"),
        ("# System Prompt\n\nA\n", "A"),
        ("A\n\n## System Prompts\n\nB\n", "A"),
        ("A\n\n---\n\nB\n\n## X\n", "A\n\n---\n\nB"),
        ("A\n\n> ## System Prompt\n\nB\n", "A\n\n> ## System Prompt\n\nB"),
    ],
)
def test_without_the_section_the_text_before_the_first_h2_counts_with_a_warning(body: str, prompt: str) -> None:
    reading = parse(BASE, body)
    assert agent(reading).system_prompt == prompt
    assert [code for code, _ in found(reading, "warning")] == ["A06"]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "\n\n",
        "# T\n",
        "# T\n\n## Notes\n\nx\n",
        "## System Prompt\n",
        "## System Prompt\n\n## Next\n\nx\n",
        "## System Prompt\n\n---\n\nx\n",
    ],
)
def test_no_prompt_or_an_empty_one_is_an_error(body: str) -> None:
    reading = parse(BASE, body)
    assert reading.value is None
    assert [code for code, _ in found(reading)] == ["A06"]


def test_two_sections_are_an_error_at_the_second() -> None:
    reading = parse(BASE, "## System Prompt\n\nA\n\n## system prompt\n\nB\n")
    assert reading.value is None
    assert found(reading) == [("A06", 11)]
    assert "line 7" in messages(reading)


def test_nesting_too_deep_to_follow_fails_closed() -> None:
    prompt, findings = extract_prompt("- " * 200 + "x\n\n## System Prompt\n\nA\n", 5)
    assert prompt is None
    assert [(d.code, d.line) for d in findings] == [("A06", 5)]


# --- metadata, JSON, the document's own examples ----------------------------------------------------------------------


def test_metadata_for_search_and_resolution() -> None:
    yaml = "metadata:\n  version: '1.2'\n  dependencies:\n    - tool:acme/fs/read@^1.2\n    - acme/notes/style\n"
    reading = parse(BASE + "tools:\n  allowed: [Read]\n" + yaml)
    metadata = reading.metadata
    assert metadata is not None
    assert (metadata.name, metadata.version, metadata.description) == ("dev", "1.2.0", "always")
    assert metadata.agent_tools == agent_tools(["Read"])
    assert metadata.capabilities == ()
    assert [(d.relation, d.reference, d.range, d.line) for d in metadata.dependencies] == [
        ("depends_on", "tool:acme/fs/read", "^1.2", 11),
        ("depends_on", "acme/notes/style", None, 12),
    ]


def test_a_version_at_the_top_counts_where_metadata_has_none() -> None:
    assert parse(BASE + "version: 2.0.1\n").metadata.version == "2.0.1"  # type: ignore[union-attr]
    both = parse(BASE + "version: 2.0.1\nmetadata:\n  version: 3.0.0\n")
    assert both.metadata is not None
    assert both.metadata.version == "3.0.0"


def test_on_failure_is_never_written_back() -> None:
    shown = as_json(agent(parse(BASE)))
    assert shown["transitions"] == {"onSuccess": "complete"}


def test_other_agents_are_requirements() -> None:
    yaml = BASE.replace("onSuccess: complete", "onSuccess: tester\n  onFailure: dev\n  onMaxIterations: complete")
    assert agent(parse(yaml)).requires == ("tester",)


def test_show_is_json_even_of_odd_numbers() -> None:
    shown = as_json(agent(parse(BASE + "metadata:\n  ratio: .nan\n  top: .inf\n")))
    assert list(shown)[:3] == ["name", "display_name", "when_to_use"]
    assert json.loads(json.dumps(shown, allow_nan=False))["metadata"] == {"ratio": ".nan", "top": ".inf"}


def test_the_template_is_valid_and_publishable() -> None:
    for name in ("dev", "release-manager", "a_b"):
        assert read(Source(template(name), name=name), ReadOptions(publishing=True)).diagnostics == ()


@pytest.mark.corpus
def test_the_documents_four_examples_give_the_prompts_a_reader_expects() -> None:
    document = shared("spec/004_556477934ef95d9d.txt").read_text(encoding="utf-8")
    examples = re.findall(r"^```markdown\n(---\nname: .*?)\n```$", document, re.MULTILINE | re.DOTALL)
    agents = {a.name: a for a in (agent(read(Source(text), ReadOptions())) for text in examples)}
    assert sorted(agents) == ["developer", "planner", "researcher", "tester"]
    assert agents["tester"].system_prompt == "Run tests, identify failures, report issues clearly."
    assert agents["researcher"].system_prompt.endswith("Return your findings in clear, organized format.")
    assert agents["planner"].system_prompt.startswith("Analyze the task")
    assert agents["planner"].system_prompt.endswith("- Analysis only")
    prompt = agents["developer"].system_prompt
    assert prompt.startswith("Your job is to transform a plan into working code.")
    assert prompt.endswith("- What should be tested next")
    assert "### When Stuck" in prompt
    assert "Integration Notes" not in prompt


# --- hostile input ----------------------------------------------------------------------------------------------------

_LINES = st.sampled_from(
    [
        "---", "name: dev", "name: [", "whenToUse: |", "  x", "tools:", "  allowed: [a, *b]", "transitions:",
        "  onSuccess: &b complete", "limits: {timeout: 1e999}", "## System Prompt", "# T", "```", "<!--", "-->", "- x",
        "> y", "", "text", "<<: *b", "\t", "metadata: !x",
    ]
)  # fmt: skip


@given(st.lists(_LINES, max_size=25).map("\n".join) | st.text(max_size=150))
@settings(max_examples=EXAMPLES, deadline=None)
def test_no_text_crashes_the_reader(text: str) -> None:
    reading = read(Source(text, "x.md", "dev", ""), ReadOptions(publishing=True))
    assert (reading.value is None) == (reading.metadata is None)
    if reading.value is not None:
        json.dumps(as_json(reading.value), allow_nan=False)
    else:
        assert any(isinstance(d, Diagnostic) and d.severity == "error" for d in reading.diagnostics)


@pytest.mark.parametrize("allowed", ["1", "true", "text", "{}"])
def test_a_list_of_tools_that_is_none_is_a_finding_and_no_crash(allowed: str) -> None:
    head = f"name: sage\nwhenToUse: now\ntools:\n  allowed: {allowed}\ntransitions:\n  onSuccess: complete\n"
    text = f"---\n{head}---\n\n# X\n\n## System Prompt\n\nDo.\n"
    assert "A10" in {found.code for found in read(Source(text), ReadOptions()).diagnostics}
