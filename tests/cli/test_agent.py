"""``rye agent``: the transition graph of a folder, and YAML agents as Markdown (DECISIONS Agents 9 to 11)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenes.person import Person


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    """planner → coder → complete; looper leads only to itself."""
    person = Person(tmp_path)
    for name, target in (("planner", "coder"), ("coder", "complete"), ("looper", "looper")):
        path = person.new("agent", name)
        path.write_text(path.read_text().replace("onSuccess: complete", f"onSuccess: {target}"))
    return person


def test_the_graph_marks_who_is_never_reached_and_who_never_ends(rye: Person) -> None:
    graph = rye.ok("agent", "graph", "--json").json
    assert graph["agents"] == ["coder", "looper", "planner"]
    assert {"from": "planner", "to": "coder", "on": "success"} in graph["edges"]
    assert (graph["entry"], graph["unreachable"], graph["non_terminating"]) == ("planner", ["looper"], ["looper"])
    text = rye.ok("agent", "graph", ".ai/agents").stdout
    assert "looper  [unreachable, non-terminating]" in text
    assert "planner  [entry]" in text


def test_mermaid(rye: Person) -> None:
    assert rye.ok("agent", "graph", "--mermaid").stdout.startswith("flowchart LR\n")
    assert rye.ok("agent", "graph", "--mermaid", "--json").json["mermaid"].startswith("flowchart LR\n")


def test_an_entry_can_be_chosen(rye: Person) -> None:
    assert rye.ok("agent", "graph", "--entry", "looper", "--json").json["unreachable"] == ["coder", "planner"]
    wrong = rye.run("agent", "graph", "--entry", "plannr", "--json")
    assert (wrong.code, wrong.error["hint"]) == (2, "Did you mean planner?")


def test_bad_files_are_listed_and_the_rest_goes_on(rye: Person) -> None:
    rye.write(".ai/agents/one.md", "nothing")
    rye.write(".ai/agents/two.md", b"\xff")
    result = rye.run("agent", "graph", "--json")
    assert result.code == 1
    assert [error["path"] for error in result.json["errors"]] == [".ai/agents/one.md", ".ai/agents/two.md"]
    assert result.json["agents"] == ["coder", "looper", "planner"]


def test_duplicate_names_name_both_files(rye: Person) -> None:
    rye.write(".ai/agents/other.md", rye.path(".ai/agents/coder.md").read_text())
    errors = rye.run("agent", "graph", "--json").json["errors"]
    assert any("coder.md" in error["message"] or "other.md" in error["message"] for error in errors)


def test_folders_without_agents(rye: Person) -> None:
    rye.path("empty").mkdir()
    assert rye.run("agent", "graph", "empty").code == 1
    assert rye.run("agent", "graph", "nowhere", "--json").error["code"] == "no-such-folder"


def test_another_programs_folder_is_found(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    assert rye.run("agent", "graph", "--json").refusal == "no-items agents"
    path = rye.new("agent", "planner")
    rye.write(".rawko/agents/planner.md", path.read_text())
    path.unlink()
    path.parent.rmdir()
    assert rye.ok("agent", "graph", "--json").json["agents"] == ["planner"]


YAML = """\
# who plans
name: planner
whenToUse: To plan
transitions:
  onSuccess: complete
limits:
  maxIterations: 3
systemPrompt: |
  You plan.

  ### Rules

  - Be brief.
"""


def test_a_yaml_agent_becomes_markdown_with_the_same_prompt(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.write("agents/planner.yaml", YAML)
    done = rye.ok("agent", "migrate", "agents/planner.yaml", "--json").json
    assert done["results"] == [{"path": "agents/planner.md", "diagnostics": []}]
    shown = rye.ok("show", "agents/planner.md", "--json").json
    assert shown["system_prompt"] == "You plan.\n\n### Rules\n\n- Be brief."
    assert shown["limits"] == {"maxIterations": 3}
    assert "# who plans" in rye.path("agents/planner.md").read_text()
    assert rye.path("agents/planner.yaml").read_text() == YAML


def test_what_would_not_come_back_out_is_refused(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.write("planner.yaml", YAML.replace("### Rules", "## Rules"))
    result = rye.run("agent", "migrate", "planner.yaml", "--json")
    assert (result.code, result.error["code"]) == (1, "prompt-would-change")
    assert not rye.path("planner.md").exists()


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.write("planner.yaml", YAML)
    rye.write("planner.md", "mine")
    assert rye.run("agent", "migrate", "planner.yaml", "--json").refusal == "already-exists file"
    assert rye.path("planner.md").read_text() == "mine"
    assert rye.run("agent", "migrate", "planner.md", "--json").code == 2
    rye.write("bomb.yaml", "a: &a [x]\n" + "".join(f"b{n}: *a\n" for n in range(100)))
    assert rye.run("agent", "migrate", "bomb.yaml").code == 1


def test_one_bad_file_of_several_writes_none(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.write("good.yaml", YAML)
    rye.write("bad.yaml", "name: x\n")
    assert rye.run("agent", "migrate", "good.yaml", "bad.yaml").code == 1
    assert not rye.path("good.md").exists()
