"""What an agent sees of a directive, and where its errors are reported (DECISIONS Directives 18, 20)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.scenes.person import Person

FENCE = """```xml
<directive name="deploy" version="1.0.0">
  <metadata>
    <description>{description}</description>
    <category>ops</category>
    <author>acme</author>
    <model tier="low" />
    <permissions><search><directive>*</directive></search></permissions>
    <limits max_turns="3" max_tokens="1000" />
  </metadata>
  <inputs>
    <input name="who" type="string">Whom</input>
    <input name="must" type="string" required="true">Needed</input>
  </inputs>
  {outputs}
</directive>
```
"""
BODY = """

## Before

Prose before {input:who:all}.

<process>
  <step name="go">Greet {input:who:all}.</step>
</process>

Between, with `code {input:who:all}`.

<!-- a comment for {input:who:all} -->

<success_criteria>
<criterion>Done</criterion>
</success_criteria>

## Safety

1. Never delete.

```text
  kept   as it is
```
"""
OUTPUTS = '<outputs><output name="result">What was done</output></outputs>'
RETURNS = '<returns>\n  <output name="result">What was done</output>\n</returns>'
PATH = ".ai/directives/ops/deploy.md"
OVERRIDES = ".ai/overrides/ops/deploy.overrides.md"
HEAD = "---\nagent: deploy\nbase-version: 1.0.0\nlast-reviewed: 2026-01-01\n---\n\n"


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    made = Person(tmp_path)
    made.write("rye.toml", "[project]\n")
    return made


def put(rye: Person, body: str = BODY, *, above: str = "# Deploy\n\nDeploys.\n\n", **parts: str) -> None:
    rye.write(PATH, above + FENCE.format(**{"description": "Deploy it", "outputs": OUTPUTS, **parts}) + body)


def override(rye: Person, *directives: tuple[str, str, str]) -> None:
    text = HEAD
    for operation, target, content in directives:
        text += f"<!-- DIRECTIVE: {operation}\ntarget: {target}\nreason: r\n-->\n{content}\n<!-- END DIRECTIVE -->\n\n"
    rye.customize(OVERRIDES, text)


def line_of(rye: Person, path: str, text: str) -> int:
    lines = rye.path(path).read_text().split("\n")
    (line,) = [number for number, line in enumerate(lines, 1) if text in line]
    return line


def error(rye: Person, *words: str) -> Any:
    result = rye.run("render", "ops/deploy", *words, "--json")
    assert result.code == 1, result
    return result.error


MUST = ("--input", "must=x")


def test_everything_after_the_fence_is_rendered_whole_and_in_its_order(rye: Person) -> None:
    put(rye)
    prompt = rye.ok("render", "ops/deploy", *MUST, "--input", "who=Ann", "--json").json["prompt"]
    body = BODY.strip("\n").replace("{input:who:all}", "Ann")
    assert prompt == f"# Deploy\n\nDeploys.\n\n{body}\n\n{RETURNS}"


def test_text_that_only_looks_like_a_section_is_kept(rye: Person) -> None:
    body = "\n```\n<process>\nnot this\n</process>\n```\n\n<process>\n<step name='a'>b</step>\n</process>\n\n<other>x</other>\n"
    put(rye, body)
    prompt = rye.ok("render", "ops/deploy", *MUST, "--json").json["prompt"]
    assert body.strip("\n") in prompt


def test_what_an_override_appends_arrives_and_is_what_the_diff_shows(rye: Person) -> None:
    put(rye)
    override(rye, ("append", "## Safety", "Ask a person first."), ("insert-before", "## Before", "## Ours\n\nFirst."))
    prompt = rye.ok("render", "ops/deploy", *MUST, "--json").json["prompt"]
    assert "  kept   as it is\n```\n\nAsk a person first.\n\n<returns>" in prompt
    assert "Deploys.\n\n## Ours\n\nFirst.\n\n## Before" in prompt
    shown = rye.ok("diff", "ops/deploy", "--effective").stdout
    added = [line[1:] for line in shown.split("\n") if line.startswith("+") and not line.startswith("+++")]
    assert set(added) >= {"Ask a person first.", "## Ours", "First."}
    for line in added:
        assert line in prompt


@pytest.mark.parametrize(
    "place",
    ["above", "title", "description", "process", "between", "comment", "below", "success", "failure"],
)
def test_a_missing_value_names_the_line_of_the_file(rye: Person, place: str) -> None:
    """C3: the search for a text gave line 1 for 5, a legacy message 16 for 18."""
    needed = "NEEDED {input:gone}"
    above, description, outputs, body = "# Deploy\n\nDeploys.\n\n", "Deploy it", OUTPUTS, BODY
    if place == "above":
        above = f"<!--\n# Deploy\n{needed[:6]}-\n-->\n# Deploy\n\nDeploys\n{needed}.\n\n"
    if place == "title":
        above = f"Text.\n\n<!-- # {needed[:6]}- -->\n# {needed}\n\nDeploys.\n\n"
    if place == "description":
        above, description = "# Deploy\n\n", f"\n      <!-- two\n      lines -->\n      Says\n      {needed}\n    "
    if place in ("success", "failure"):
        outputs = (
            f"<outputs>\n    <success>\n      Fine\n      {needed if place == 'success' else ''}\n    </success>\n"
        )
        outputs += f"    <failure\n    >Bad &#10; {needed if place == 'failure' else ''}</failure>\n  </outputs>"
    if place == "process":
        body = BODY.replace("Greet ", f"Greet\n    {needed} ")
    if place == "between":
        body = BODY.replace("Between, ", f"{needed} ")
    if place == "comment":
        body = BODY.replace("a comment for", f"a comment\n{needed}")
    if place == "below":
        body = BODY.replace("1. Never delete.", f"1. Never\n   {needed}")
    put(rye, body, above=above, description=description, outputs=outputs)
    line = line_of(rye, PATH, needed)
    found = error(rye, *MUST)
    assert found["code"] == "missing-input"
    assert found["missing"] == [{"input": "gone", "line": line, "path": str(rye.path(PATH))}]
    assert f"line {line} of" in found["message"]


def test_under_an_override_the_line_is_that_of_the_file_it_was_written_in(rye: Person) -> None:
    put(rye, BODY.replace("1. Never delete.", "1. BASE {input:base}"))
    rye.ok("keys", "generate")
    rye.ok("sign", PATH)  # the signature line is not part of the merged text
    override(
        rye,
        ("insert-before", "## Before", "## Ours\n\nMany\nlines\nhere."),
        ("append", "## Safety", "\nFirst.\n\nOURS {input:ours}\n"),
    )
    found = error(rye, *MUST)
    assert found["missing"] == [
        {"input": "base", "line": line_of(rye, PATH, "BASE"), "path": str(rye.path(PATH))},
        {"input": "ours", "line": line_of(rye, OVERRIDES, "OURS"), "path": OVERRIDES},
    ]
    assert f"line {line_of(rye, OVERRIDES, 'OURS')} of {OVERRIDES}" in found["message"]


def test_the_user_s_override_below_the_project_s_keeps_its_place(rye: Person) -> None:
    put(rye)
    override(rye, ("append", "## Safety", "Project."))
    users = rye.home / "ai/overrides/ops/deploy.overrides.md"
    users.parent.mkdir(parents=True)
    users.write_text(
        HEAD + "<!-- DIRECTIVE: append\ntarget: ## Before\nreason: r\n-->\nUSER {input:u}\n<!-- END DIRECTIVE -->\n"
    )
    (missing,) = error(rye, *MUST)["missing"]
    assert missing == {"input": "u", "line": 11, "path": str(users)}


def test_a_required_input_names_where_it_is_used_and_declared(rye: Person) -> None:
    put(rye, BODY.replace("1. Never delete.", "1. USED {input:must}"))
    used, declared = line_of(rye, PATH, "USED"), line_of(rye, PATH, 'name="must"')
    found = error(rye)
    assert found["code"] == "bad-inputs"
    (problem,) = found["problems"]
    assert (problem["input"], problem["line"], problem["path"]) == ("must", used, str(rye.path(PATH)))
    assert f"used on line {used} of" in found["message"]
    assert f"declared on line {declared} of" in found["message"]
    put(rye)
    assert error(rye)["problems"][0]["line"] == declared
    override(rye, ("append", "## Safety", "Now {input:must}."))
    (problem,) = error(rye)["problems"]
    assert (problem["line"], problem["path"]) == (line_of(rye, OVERRIDES, "Now"), OVERRIDES)


def test_an_error_that_an_override_makes_is_on_its_line(rye: Person) -> None:
    put(rye)
    override(
        rye,
        ("append", "## Before", "Fine."),
        ("append", "## Safety", "Text.\n\n<process>\n<step name='b'>c</step>\n</process>"),
    )
    found = error(rye, *MUST)
    line = line_of(rye, OVERRIDES, "<process>")
    assert found["message"].startswith(f"{OVERRIDES}:{line}: "), found
    assert f"the first is on line {line_of(rye, PATH, '<process>')} of {rye.path(PATH)}" in found["message"]
    checked = rye.run("override", "check", "--json").json["overrides"][0]["diagnostics"]
    assert [one["line"] for one in checked if one["severity"] == "error"] == [line]


def test_warnings_are_placed_too(rye: Person) -> None:
    put(rye)
    override(rye, ("append", "## Safety", "Odd {input:undeclared?}."))
    document = rye.ok("render", "ops/deploy", *MUST, "--json").json
    (found,) = [one for one in document["diagnostics"] if one["code"] == "D080"]
    assert (found["path"], found["line"]) == (OVERRIDES, line_of(rye, OVERRIDES, "Odd"))
    stderr = rye.ok("render", "ops/deploy", *MUST).stderr
    assert f"{OVERRIDES}:{found['line']}:" in stderr


def test_an_undeclared_placeholder_anywhere_in_the_body_is_a_warning(rye: Person) -> None:
    put(rye, BODY.replace("1. Never delete.", "1. ODD {input:undeclared?}"))
    found = rye.ok("validate", PATH, "--json").json["results"][0]["diagnostics"]
    assert [one["line"] for one in found if one["code"] == "D080"] == [line_of(rye, PATH, "ODD")]
