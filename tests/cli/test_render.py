"""``rye render``: what an agent gets for each kind (DESIGN §8, §9)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.scenes.person import Person

pytestmark = pytest.mark.processes

KEYS = {"prompt", "inputs", "capabilities", "hooks", "model", "limits"}


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_a_directive_with_its_inputs_and_returns(rye: Person) -> None:
    rye.new("directive", "ops/deploy")
    document = rye.ok("render", "ops/deploy", "--input", "subject=<b> & {input:subject}", "--json").json
    assert set(document) >= KEYS
    assert document["inputs"] == {"subject": "<b> & {input:subject}"}
    assert "Find what this project's files and knowledge say about <b> & {input:subject}. " in document["prompt"]
    assert document["prompt"].endswith(
        '<returns>\n  <output name="summary">What was done, in a few sentences</output>\n</returns>'
    )
    assert document["capabilities"] == ["rye.search.knowledge.*"]
    assert document["model"]["tier"] == "general"
    plain = rye.ok("render", "ops/deploy", "--input", "subject=<b> & {input:subject}")
    assert plain.stdout == document["prompt"] + "\n"


def test_inputs_from_a_file_and_from_standard_input(rye: Person) -> None:
    rye.new("directive", "ops/deploy")
    rye.write("inputs.json", '{"subject": "x"}')
    one = rye.ok("render", "ops/deploy", "--inputs", "inputs.json").stdout
    assert one == rye.ok("render", "ops/deploy", "--inputs", "-", stdin=b'{"subject": "x"}').stdout
    for bad in (
        '{"subject": 5}',
        "[]",
        "{",
        '{"subject": "x", "more": 1}',
        "[" * 100_000,
        '{"subject": "x", "subject": "y"}',
    ):
        result = rye.run("render", "ops/deploy", "--inputs", "-", "--json", stdin=bad.encode())
        assert result.code in (1, 2)
        assert result.error["message"]
    both = rye.ok("render", "ops/deploy", "--inputs", "inputs.json", "--input", "subject=y", "--json").json
    assert both["inputs"] == {"subject": "y"}, "what is typed goes before what a file says"


def test_a_required_input_is_an_error_where_nobody_can_be_asked(rye: Person) -> None:
    rye.new("directive", "ops/deploy")
    result = rye.run("render", "ops/deploy", "--json")
    assert (result.code, result.error["code"]) == (1, "bad-inputs")
    assert result.error["hint"] == "Set it with --input subject=VALUE."
    for words in (("subject",), ("=x",)):
        assert rye.run("render", "ops/deploy", "--input", *words, "--json").code == 2


def test_an_agents_prompt_is_its_system_prompt(rye: Person) -> None:
    rye.new("agent", "planner")
    document = rye.ok("render", "planner", "--json").json
    assert document["prompt"].startswith("You are the Planner.")
    assert "## System Prompt" not in document["prompt"]
    assert document["limits"] == {"maxIterations": 10, "timeout": 60000}
    assert document["agent_tools"] == ["Glob", "Grep", "Read"]
    assert set(document) >= KEYS


@pytest.mark.parametrize(("kind", "identifier"), [("role", "builder"), ("knowledge", "n/facts"), ("skill", "pdf")])
def test_text_kinds_render_without_signature_and_metadata(rye: Person, kind: str, identifier: str) -> None:
    path = rye.new(kind, identifier)
    unsigned = rye.ok("render", str(path)).stdout
    rye.ok("keys", "generate")
    rye.ok("sign", str(path))
    signed = rye.ok("render", str(path)).stdout
    assert signed == unsigned
    assert signed.startswith("# ")
    assert "rye:signed" not in signed
    assert "version:" not in signed


def test_a_role_is_its_whole_text(rye: Person) -> None:
    path = rye.new("role", "builder")
    assert rye.ok("render", "builder").stdout == path.read_text().strip("\n") + "\n"
    path.write_text("<!-- kept by the author -->\n" + path.read_text())
    assert rye.ok("render", "builder").stdout.startswith("<!-- kept by the author -->\n")


FORMULA = """\
formula = "ship"
description = "Ship {{what}}"
type = "workflow"

[[steps]]
id = "announce"
title = "Announce {{what}}"
description = "Say so to {{who}}."
needs = ["build"]

[[steps]]
id = "build"
title = "Build"
description = "Build {{what}}."
acceptance = "{{what}} starts"

[vars.what]
required = true

[vars]
who = "everyone"
"""


def formula(rye: Person) -> None:
    rye.write(".ai/formulas/ship.formula.toml", FORMULA.replace("[vars]\nwho", "[vars.who]\ndefault"))


def test_a_formulas_steps_in_an_order_to_work_in(rye: Person) -> None:
    formula(rye)
    document = rye.ok("render", "ship", "--input", "what={{who}}", "--json").json
    assert document["prompt"] == (
        "# ship\n\nShip {{who}}\n\n"
        "## Step 1: Build (build)\n\nBuild {{who}}.\n\nDone when: {{who}} starts\n\n"
        "## Step 2: Announce {{who}} (announce)\n\nNeeds: build\n\nSay so to everyone."
    )
    assert document["inputs"] == {"who": "everyone", "what": "{{who}}"}


def test_a_formulas_variables_are_checked(rye: Person) -> None:
    formula(rye)
    result = rye.run("render", "ship", "--input", "waht=x", "--json")
    assert result.error["problems"] == [
        {"input": "waht", "message": "is not declared; did you mean what?"},
        {"input": "what", "message": "is required"},
    ]
    number = rye.run("render", "ship", "--inputs", "-", "--json", stdin=json.dumps({"what": 5}).encode())
    assert number.error["problems"] == [{"input": "what", "message": "is not a text"}]


def test_a_formula_is_resolved_before_it_is_rendered(rye: Person) -> None:
    formula(rye)
    rye.write(
        ".ai/formulas/ship-more.formula.toml",
        'formula = "ship-more"\nextends = ["ship"]\n\n[[steps]]\nid = "rest"\ntitle = "Rest"\nneeds = ["announce"]\n',
    )
    prompt = rye.ok("render", "ship-more", "--input", "what=it").stdout
    assert [line for line in prompt.split("\n") if line.startswith("## ")] == [
        "## Step 1: Build (build)",
        "## Step 2: Announce it (announce)",
        "## Step 3: Rest (rest)",
    ]
    rye.path(".ai/formulas/ship.formula.toml").unlink()
    assert rye.run("render", "ship-more", "--json").error["code"] == "unknown-formula"


def test_a_formula_cannot_reach_out_of_its_folder(rye: Person) -> None:
    rye.write("secret.formula.toml", FORMULA)
    rye.write(
        ".ai/formulas/evil.formula.toml",
        'formula = "evil"\nextends = ["../../secret"]\n\n[[steps]]\nid = "a"\ntitle = "A"\n',
    )
    assert rye.run("render", ".ai/formulas/evil.formula.toml").code == 1


@pytest.mark.parametrize(("kind", "identifier"), [("tool", "a/b"), ("bundle", "starter")])
def test_what_has_no_prompt_says_why(rye: Person, kind: str, identifier: str) -> None:
    rye.new(kind, identifier)
    result = rye.run("render", f"{kind}:{identifier}", "--json")
    assert (result.code, result.error["code"]) == (2, "no-prompt")


def test_kinds_without_inputs_refuse_them(rye: Person) -> None:
    rye.new("agent", "planner")
    assert rye.run("render", "planner", "--input", "a=b", "--json").refusal == "wrong-kind inputs"


def test_what_does_not_parse_is_refused_and_other_findings_are_warnings(rye: Person) -> None:
    """DECISIONS Directives 13."""
    path = rye.new("directive", "ops/deploy")
    path.write_text(path.read_text().replace('version="0.1.0"', 'version="1"'))
    result = rye.ok("render", "ops/deploy", "--input", "subject=x")
    assert "error[" in result.stderr
    document = rye.ok("render", "ops/deploy", "--input", "subject=x", "--json").json
    assert [(found["severity"], found["code"]) for found in document["diagnostics"]] == [("error", "R03")]
    path.write_text(path.read_text().replace("</directive>", ""))
    assert rye.run("render", "ops/deploy", "--input", "subject=x", "--json").error["code"] == "does-not-parse"


def test_on_a_terminal_a_person_is_asked_for_required_inputs(rye: Person) -> None:
    rye.new("directive", "ops/deploy")
    shown = rye.terminal("render", "ops/deploy", answer=b"the cluster\n")
    assert "subject (string)" in shown
    assert "knowledge say about the cluster." in shown


def test_on_a_terminal_control_characters_are_shown_not_obeyed(rye: Person) -> None:
    path = rye.new("knowledge", "n/facts")
    path.write_text(path.read_text() + "\x1b]0;owned\x07\n")
    shown = rye.terminal("render", "n/facts", "--color", "never")
    assert "\x1b" not in shown
    assert "\\u{1b}]0;owned" in shown


def test_an_input_that_is_not_declared_is_refused_before_anything_is_asked(rye: Person) -> None:
    rye.new("directive", "ops/deploy")
    shown = rye.terminal("render", "ops/deploy", "--input", "sub=web", answer=b"the cluster\n")
    assert "subject (string)" not in shown
    assert "did you mean subject?" in shown
