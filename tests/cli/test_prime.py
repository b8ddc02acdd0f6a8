"""``rye prime``: one prompt in one order (DECISIONS Role directives and formula overlays 10)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_overlay import FORMULA, entry
from tests.scenes.person import Person


@pytest.fixture
def person(tmp_path: Path) -> Person:
    made = Person(tmp_path)
    made.write("rye.toml", "[project]\n")
    made.new("role", "clerk")
    made.write(".ai/formulas/flow.formula.toml", FORMULA)
    made.customize(".ai/formula-overlays/flow.toml", entry("b", "append", "OVERLAID {{issue}}"))
    made.customize(".ai/role-directives/clerk.md", "DIRECTED\n")
    made.write("one.md", "\n\nCONTEXT ONE\n\n")
    made.write("two.md", "\ufeffCONTEXT TWO\r\nmore")
    made.write("handoff.md", "HANDOFF\n")
    return made


ALL = ["--formula", "flow", "--handoff", "handoff.md", "--context", "one.md", "--context", "two.md"]


def test_the_order_is_role_directives_context_handoff_formula(person: Person) -> None:
    prompt = person.ok("prime", "clerk", *ALL, "--input", "issue=X-1").stdout
    marks = ["# Clerk", "DIRECTED", "CONTEXT ONE", "CONTEXT TWO\nmore", "HANDOFF", "# flow", "Do X-1.", "OVERLAID X-1"]
    places = [prompt.index(mark) for mark in marks]
    assert places == sorted(places)
    assert "\n\nCONTEXT ONE\n\nCONTEXT TWO\nmore\n\nHANDOFF\n\n# flow" in prompt
    assert prompt.endswith("\n")
    assert not prompt.endswith("\n\n")
    assert "rye:signed" not in prompt


def test_json_has_sections_with_their_sources(person: Person) -> None:
    document = person.ok("prime", "clerk", *ALL, "--json").json
    assert [section["part"] for section in document["sections"]] == [
        "role",
        "role-directives",
        "context",
        "context",
        "handoff",
        "formula",
    ]
    assert document["sections"][1]["sources"] == [".ai/role-directives/clerk.md"]
    assert document["sections"][-1]["sources"][-1] == ".ai/formula-overlays/flow.toml"
    assert document["prompt"] == person.ok("prime", "clerk", *ALL).stdout
    assert {source["part"] for source in document["sources"]} == {
        "role",
        "role-directives",
        "context",
        "handoff",
        "formula",
        "overlay",
    }


def test_explain_names_every_source_found_or_not_and_each_override(person: Person) -> None:
    result = person.ok("prime", "clerk", *ALL, "--explain")
    assert result.stdout == person.ok("prime", "clerk", *ALL).stdout
    told = result.stderr
    assert "role: " in told
    assert f"role-directives: {person.home}/ai/role-directives/clerk.md: not found" in told
    assert "role-directives: .ai/role-directives/clerk.md: found" in told
    assert "context: one.md: found" in told
    assert "handoff: handoff.md: found" in told
    assert f"overlay: {person.home}/ai/formula-overlays/flow.toml: not found" in told
    assert "Formula overlay: applying 1 override(s) for flow (rig=project)" in told
    assert 'append "b"' in told


def test_the_role_has_its_overrides(person: Person) -> None:
    person.ok("override", "new", "clerk", "## Identity", "--append", "--content", "-", stdin=b"OVERRIDDEN\n")
    result = person.ok("prime", "clerk", "--explain")
    assert "OVERRIDDEN" in result.stdout
    assert "role: .ai/overrides/clerk.overrides.md: override applied" in result.stderr


def test_a_role_alone_is_a_prompt(person: Person) -> None:
    person.path(".ai/role-directives/clerk.md").unlink()
    person.accepts()
    assert person.ok("prime", "clerk").stdout.rstrip("\n") == person.ok("render", "clerk").stdout.rstrip("\n")


def test_nothing_in_context_is_interpreted(person: Person) -> None:
    person.write("one.md", "{{issue}} {input:x} <!-- DIRECTIVE: replace")
    assert "{{issue}} {input:x} <!-- DIRECTIVE: replace" in person.ok("prime", "clerk", *ALL).stdout


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["clerk", "--formula", "flwo"], "no-such-item"),
        (["clerk", "--context", "gone.md"], "no-such-file"),
        (["clerk", "--handoff", "gone.md"], "no-such-file"),
        (["clerk", "--input", "a=b"], "usage"),
        (["clerk", "--formula", "flow", "--input", "isue=b"], "bad-inputs"),
        (["clerk", "--formula", "clerk"], "no-such-item"),
    ],
)
def test_what_is_missing_or_unknown_is_an_error_and_no_prompt(person: Person, words: list[str], code: str) -> None:
    result = person.run("prime", *words, "--json")
    assert result.code != 0
    assert result.error["code"] == code


def test_a_malformed_overlay_and_a_broken_override_stop_it(person: Person) -> None:
    person.customize(".ai/formula-overlays/flow.toml", "][")
    assert person.run("prime", "clerk", *ALL, "--json").error["code"] == "malformed-overlay"
    person.customize(".ai/overrides/clerk.overrides.md", "broken")
    assert person.run("prime", "clerk", "--json").error["code"] == "override-in-error"
