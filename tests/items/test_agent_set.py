"""A folder of agents as a closed set, its graph, and migration from YAML (DECISIONS Agents 7 to 11)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.errors import RyeError
from rye.items.agent.closed_set import check_set
from rye.items.agent.graph import AgentGraph, as_mermaid, as_text, build
from rye.items.agent.migration import migrate
from rye.items.agent.model import Agent
from rye.items.agent.reader import read
from rye.items.reading import Reading, ReadOptions, Source
from rye.text.yaml_reading import read_yaml
from tests.scenes.effort import tries
from tests.scenes.parsed import parsed

EXAMPLES = tries(60, 1000)


def text(name: str, tools: str = "", **transitions: str) -> str:
    lines = "".join(f"  {key}: {target}\n" for key, target in transitions.items())
    return f"---\nname: {name}\nwhenToUse: x\n{tools}transitions:\n{lines}---\n## System Prompt\n\nDo.\n"


def parse(name: str, tools: str = "", **transitions: str) -> Reading[Agent]:
    return read(Source(text(name, tools, **transitions), name=name), ReadOptions())


def graph_of(*agents: tuple[str, dict[str, str]], entry: str | None = None) -> AgentGraph:
    values: list[Agent] = [parsed(parse(name, **transitions)) for name, transitions in agents]
    return build(values, entry)


def test_every_target_must_be_an_agent_of_the_set_or_complete() -> None:
    readings = {
        "b.md": parse("b", onSuccess="complete", onFailure="nobody", onMaxIterations="a"),
        "a.md": parse("a", onSuccess="bb", onFailure="b"),
    }
    found = check_set(readings, ReadOptions())
    assert list(found) == ["a.md", "b.md"]
    (first,), (second,) = found["a.md"], found["b.md"]
    assert (first.severity, first.code, first.line) == ("error", "A07", 5)
    assert "'bb' not found" in first.message
    assert (second.line, "'nobody'" in second.message) == (6, True)


def test_targets_match_exactly() -> None:
    found = check_set({"a": parse("a", onSuccess="Complete"), "b": parse("b", onSuccess="A")})
    assert [d.hint for ds in found.values() for d in ds] == ["Did you mean complete?", "Did you mean a?"]


def test_an_agent_that_did_not_parse_is_no_target_and_does_not_stop_the_others() -> None:
    readings = {
        "a": parse("a", onSuccess="b"),
        "b": read(Source("no agent"), ReadOptions()),
        "c": parse("c", onSuccess="x"),
    }
    assert list(check_set(readings)) == ["a", "c"]


def test_unknown_allowed_tools_are_errors_in_a_set_unless_rye_toml_adds_them() -> None:
    readings = {"a": parse("a", "tools: {allowed: [Read, Deploy], blocked: [Nuke]}\n", onSuccess="complete")}
    ((error,),) = check_set(readings).values()
    assert (error.severity, error.code, error.line) == ("error", "A08", 4)
    assert "Deploy" in error.message
    assert check_set(readings, ReadOptions(tools=frozenset(["Deploy"]))) == {}


def test_a_name_that_stands_twice_is_an_error_naming_both_files() -> None:
    readings = {"z.md": parse("a", onSuccess="a"), "a.md": parse("a", onSuccess="a"), "b.md": parse("A", onSuccess="a")}
    found = check_set(readings)
    assert list(found) == ["a.md", "b.md", "z.md"]
    for diagnostics in found.values():
        assert {d.code for d in diagnostics} == {"A09"}
        assert all("a.md" in d.message and "z.md" in d.message for d in diagnostics)


# --- the graph --------------------------------------------------------------------------------------------------------


def test_unreachable_and_non_terminating_agents() -> None:
    graph = graph_of(
        ("planner", {"onSuccess": "developer"}),
        ("developer", {"onSuccess": "complete", "onFailure": "planner"}),
        ("orphan", {"onSuccess": "complete"}),
        ("loop", {"onSuccess": "spin"}),
        ("spin", {"onSuccess": "loop"}),
    )
    assert graph.entry == "orphan" or graph.entry == "planner"
    assert graph.non_terminating == ("loop", "spin")
    assert {"loop", "spin"} <= set(graph.unreachable)
    assert graph.outside == ()


def test_the_entry_is_who_nobody_hands_over_to_and_who_reaches_most() -> None:
    agents = (
        ("a_orphan", {"onSuccess": "complete"}),
        ("planner", {"onSuccess": "developer"}),
        ("developer", {"onSuccess": "tester"}),
        ("tester", {"onSuccess": "complete", "onFailure": "developer"}),
    )
    graph = graph_of(*agents)
    assert (graph.entry, graph.unreachable) == ("planner", ("a_orphan",))
    assert graph_of(*agents, entry="tester").unreachable == ("a_orphan", "planner")
    assert graph_of(*agents, entry="unknown").entry == "planner"


def test_a_failure_loop_alone_does_not_make_an_agent_non_terminating() -> None:
    graph = graph_of(("a", {"onSuccess": "complete"}))
    assert graph.non_terminating == ()
    assert [(e.source, e.target, e.label) for e in graph.edges] == [("a", "complete", "success"), ("a", "a", "failure")]


def test_agents_outside_the_set_are_exits() -> None:
    graph = graph_of(("a", {"onSuccess": "elsewhere"}))
    assert (graph.non_terminating, graph.outside) == ((), ("elsewhere",))


def test_text_and_mermaid() -> None:
    graph = graph_of(("a", {"onSuccess": "b", "onMaxIterations": "gone"}), ("b", {"onSuccess": "b"}))
    assert as_text(graph) == (
        "a  [entry]\n  success → b\n  failure → a\n  max iterations → gone  (not in this set)\n"
        "b  [non-terminating]\n  success → b\n  failure → b\n"
    )
    drawn = as_mermaid(graph)
    assert drawn.startswith('flowchart LR\n    a0["a"]\n    a1["b"]\n    a2{{"gone"}}\n    a0 -->|success| a1\n')
    assert "    class a1 nonTerminating\n" in drawn
    assert as_text(build([])) == ""


def test_a_target_cannot_break_out_of_its_mermaid_label() -> None:
    drawn = as_mermaid(graph_of(("a", {"onSuccess": '\'x"]; click a0 href "evil"\''})))
    assert '"]; click' not in drawn


# --- migration --------------------------------------------------------------------------------------------------------

YAML = """\
# an agent
name: dev   # kept
displayName: Developer
whenToUse: |
  one
  two
systemPrompt: |
  You develop.

  ### Steps

  - one
# about tools
tools:
  allowed: [Read]
transitions: {onSuccess: complete}
custom: {a: 1.0, b: '1', c: true}
"""


def test_every_field_and_comment_is_kept_and_the_prompt_comes_back() -> None:
    result = migrate(YAML)
    reading = read(Source(result, name="dev"), ReadOptions())
    assert parsed(reading).system_prompt == "You develop.\n\n### Steps\n\n- one"
    assert parsed(reading).extra == {"custom": {"a": 1.0, "b": "1", "c": True}}
    assert result.startswith("---\n# an agent\nname: dev   # kept\n")
    assert "# about tools\ntools:" in result
    assert "systemPrompt" not in result
    assert "# Developer\n\n## System Prompt\n\nYou develop.\n" in result


def test_yaml_in_flow_style_is_written_anew() -> None:
    result = migrate(
        '{"name": "dev", "systemPrompt": "Go", "whenToUse": "x", "transitions": {"onSuccess": "complete"}}'
    )
    assert read(Source(result, name="dev"), ReadOptions()).diagnostics == ()


def test_the_prompt_may_stand_anywhere_and_be_quoted_or_folded() -> None:
    rest = "name: dev\nwhenToUse: x\ntransitions:\n  onSuccess: complete\n"
    for prompt in ('systemPrompt: "a\\n\\nb"\n', "systemPrompt: >\n  a\n\n  b\n", "systemPrompt: |-\n  a\n\n  b\n"):
        for yaml in (prompt + rest, rest + prompt, "---\n" + rest + prompt + "...\n"):
            value = parsed(read(Source(migrate(yaml), name="dev"), ReadOptions()))
            assert value.system_prompt in ("a\n\nb", "a\nb")


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("a\n## Section\nb", "line 2 of the prompt ('Section')"),
        ("# Title\na", "line 1 of the prompt"),
        ("a\n\n---\n\nb", "a line of dashes"),
        ("  a", "whitespace"),
        ("a\n\n", "whitespace"),
        ("## System Prompt\n\na", "line 1"),
        ("<!--\nopen", None),
        ("```\n## fine\n```", None),
    ],
)
def test_a_prompt_that_would_change_is_refused(prompt: str, words: str | None) -> None:
    indented = "\n".join("  " + line for line in prompt.split("\n"))
    yaml = f"name: dev\nwhenToUse: x\ntransitions: {{onSuccess: complete}}\nsystemPrompt: |2+\n{indented}\n"
    if words is None:
        assert parsed(read(Source(migrate(yaml), name="dev"), ReadOptions())).system_prompt == prompt
    else:
        with pytest.raises(RyeError) as caught:
            migrate(yaml)
        assert caught.value.code == "prompt-would-change"
        assert words in caught.value.message


@pytest.mark.parametrize(
    "yaml", ["", "- a", "name: dev", "systemPrompt: ''", "systemPrompt: 5", "systemPrompt: [a]", "a: ["]
)
def test_what_is_no_agent_is_refused(yaml: str) -> None:
    with pytest.raises(RyeError):
        migrate(yaml)


@given(
    st.text(alphabet="ab#-`~<>! \n*", max_size=60),
    st.dictionaries(st.sampled_from(["a", "b", "displayName", "name"]), st.text(alphabet="ab'\"#:-\\{ ", max_size=10)),
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_migration_keeps_everything_or_refuses(prompt: str, fields: dict[str, str]) -> None:
    import json

    yaml = "".join(f"{key}: {json.dumps(value)}\n" for key, value in {**fields, "systemPrompt": prompt}.items())
    try:
        result = migrate(yaml)
    except RyeError:
        return
    from rye.items.agent.prompt import extract_prompt
    from rye.text.frontmatter import split

    parts = split(result)
    assert (read_yaml(parts.yaml).value or {}) == fields
    assert extract_prompt(parts.body)[0] == prompt.removesuffix("\n")
