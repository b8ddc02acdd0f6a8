"""The commonest mistakes in YAML are answered with the line as it should be, and that line can be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.text.yaml_reading import YamlError, read_yaml
from tests.scenes.person import Person


def hint_of(text: str) -> str | None:
    with pytest.raises(YamlError) as failed:
        read_yaml(text)
    return failed.value.hint


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("description", "Use this: when pdf"),
        ("description", 'Say "so": always'),
        ("description", r"Open C:\x: it's there"),
        ("description", "Note: x:"),
        ("name", "`pdf`"),
        ("name", "@team"),
    ],
)
def test_the_hint_is_the_line_in_quotes_and_it_has_the_value_that_was_meant(key: str, value: str) -> None:
    hint = hint_of(f"before: 1\n{key}: {value}\nafter: 2\n")
    assert hint is not None
    said, _, line = hint.partition("Put the value in quotes: ")
    assert said == ""
    assert read_yaml(line).value == {key: value}


@pytest.mark.parametrize(
    "text",
    ["a: [1\nb: 2\n", "a: x\n  b: y\n", 'a: "x": y\n', "a:\n\t- b\n", "a: {b: c: d}\n", "a: 1\na: 2\n"],
)
def test_another_mistake_gets_no_hint_about_quotes(text: str) -> None:
    assert hint_of(text) is None


def test_a_long_value_is_not_repeated_and_costs_no_more_than_its_length() -> None:
    assert hint_of("a: " + "b: " * 300_000 + "c\n") == "Put the value of a in quotes."
    assert hint_of("a: b: " + " " * 300_000 + "c\n") == "Put the value of a in quotes."


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (".ai/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Use this: when pdf\n---\n\n# PDF\n"),
        (".ai/agents/planner.md", "---\nname: planner\ndescription: Use this: when pdf\n---\n\n# P\n"),
        (".ai/knowledge/work/pdf.md", "---\nname: pdf\ndescription: Use this: when pdf\n---\n\n# P\n"),
        (".ai/tools/work/pdf.yaml", "tool_type: http\ndescription: Use this: when pdf\n"),
    ],
)
def test_validate_shows_the_hint_for_every_kind_with_yaml(tmp_path: Path, path: str, text: str) -> None:
    rye = Person(tmp_path)
    rye.write("rye.toml", "")
    rye.write(path, text)
    found = rye.run("validate", path, "--json").json["results"][0]["diagnostics"]
    assert [one["hint"] for one in found] == ['Put the value in quotes: description: "Use this: when pdf"']
    assert "Put the value in quotes" in rye.run("validate", path).stderr


def test_explain_shows_it(tmp_path: Path) -> None:
    said = Person(tmp_path).ok("explain", "S01").stdout
    assert "description: Fill in and merge PDF forms: use" in said
    assert 'description: "Fill in and merge PDF forms: use' in said
