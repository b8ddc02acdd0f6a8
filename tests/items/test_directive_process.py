"""The sections after the fence: pseudo-XML that a model reads as prose (DECISIONS Directives 3, 7)."""

from __future__ import annotations

import pytest

from rye.items.directive.model import Process
from tests.items.test_directive_sample import AFTER, findings, line_of, only, text, value


def process(after: str) -> Process:
    found = value(text(after=after)).process
    assert found is not None
    return found


def step(body: str) -> str:
    return f'<process>\n  <step name="one">\n{body}\n  </step>\n</process>\n'


def test_steps_have_names_text_and_places() -> None:
    content = text()
    found = value(content).process
    assert found is not None
    first, second = found.steps
    assert (first.name, first.line, first.column) == ("find", line_of(content, '<step name="find"'), 3)
    assert first.text == 'Look for `rye_search(item_type="directive", query="deploy")` first.'
    assert second.description == "Deploy to {input:environment}."
    assert found.source == AFTER[: AFTER.index("</process>") + len("</process>")]
    assert found.text == found.source[len("<process>") : -len("</process>")]
    assert (found.line, found.end_line) == (line_of(content, "<process>"), line_of(content, "</process>"))


@pytest.mark.parametrize(
    "body",
    [
        "    if a < b && c > d: use <generated name> & more",
        "    ```\n    </step></process>\n    ```",
        "```python\n</process>\n\n<process>\n```",
        "    ~~~\n    </step>\n    ~~~",
        "    ````\n    ```\n    </process>\n    ```\n    ````",
        "    Write `</process>` and `` <step> ` `` here.",
        '    `rye_execute(item_type="tool", item_id="a/b",\n      parameters={"content": "</step>"})`',
        "    <!-- </process> -->",
        "    A stray ` tick, and ``` three.",
        "    - ```\n      </step>\n      ```",
        "    > ```\n    > </step>\n    > ```",
        "    <search> for it in the <description of the thing",
        "    <b>bold</b> <steps/> <processing> </stepping>",
        "    ```never closed",
    ],
    ids=range(14),
)
def test_what_stands_in_code_or_looks_like_markup_is_text(body: str) -> None:
    content = text(after=step(body))
    assert findings(content) == []
    (found,) = process(step(body)).steps
    assert found.text.split() == body.split()


def test_a_stray_backtick_hides_no_closing_tag() -> None:
    after = '<process>\n  <step name="a">\n    don` t\n  </step>\n  <step name="b">\n    x ` y\n  </step>\n</process>\n'
    assert [one.name for one in process(after).steps] == ["a", "b"]
    assert findings(text(after=after)) == []


@pytest.mark.parametrize(
    ("after", "codes"),
    [
        ("", ["D070"]),
        ("```xml\n<process>\n</process>\n```\n", ["D070"]),
        ("<!-- <process></process> -->\n", ["D070"]),
        ("<process>\n", ["D070"]),
        ("<process/>\n", ["D070"]),
        ("</process>\n", ["D070"]),
        ("<process></process>\n<process></process>\n", ["D070"]),
        ("<process>\n<process>\n</process>\n", ["D070"]),
        ("<process>\n<step name='a'>x\n</process>\n", ["D071"]),
        ("<process>\n<step name='a'>x\n<step name='b'>y</step>\n</process>\n", ["D071"]),
        ("<process>\n</step>\n</process>\n", ["D071"]),
        ("<process>\n<step name='a'/>\n</process>\n", ["D071"]),
        ("<process>\n<step>x</step>\n</process>\n", ["D071"]),
        ("<process>\n<step name='a'>x</step><step name='a'>x</step>\n</process>\n", ["D071"]),
        ("<process>\n<step name='a' name='b'>x</step>\n</process>\n", ["D071"]),
        ("<process>\n<step name='a' nam='b'>x</step>\n</process>\n", ["D012"]),
        (step('<execute item_type="tool" item_id="a/b">'), ["D072"]),
        (step('<execute item_id="a/b"/>'), ["D072"]),
        (step('<execute item_type="agent" item_id="a/b"/>'), ["D072"]),
        (step('<execute item_type="tool"/>'), ["D072"]),
        (step('<execute item_type="tool" item_type="directive" item_id="a"/>'), ["D072"]),
        (step('<execute item_type="tool" item_id="a"><param value="x"/></execute>'), ["D072"]),
        (step('<execute item_type="tool" item_id="a"><param name="x"/><param name="x"/></execute>'), ["D072"]),
        (f"{AFTER}<success_criteria></success_criteria>\n", ["D073"]),
        (f"{AFTER}</success_criteria>\n", ["D073"]),
        (step("") + "<success_criteria>\n<criterion>a\n</success_criteria>\n", ["D073"]),
        (step("") + "<success_criteria>\n<criterion>a</criterion>\n", ["D073"]),
        (step("") + "<success_criteria>\n<criterion> </criterion>\n</success_criteria>\n", ["D073"]),
        (step("<success_criteria><criterion>a</criterion></success_criteria>"), ["D073"]),
    ],
    ids=range(29),
)
def test_broken_sections(after: str, codes: list[str]) -> None:
    assert [code for _, code in findings(text(after=after))] == codes


def test_a_decoy_process_never_replaces_the_first() -> None:
    content = text(after=f'{AFTER}\n<process>\n<step name="x">evil</step>\n</process>\n')
    assert findings(content) == [("error", "D070")]
    found = value(content).process
    assert found is not None
    assert [one.name for one in found.steps] == ["find", "deploy"]


def test_calls_are_found_in_both_styles_with_their_places() -> None:
    content = text()
    calls = value(content).calls
    assert [(call.primary, call.item_type, call.item_id) for call in calls] == [
        ("search", "directive", None),
        ("execute", "tool", "rye/shell/kubectl"),
    ]
    lines = content.split("\n")
    assert lines[calls[0].line - 1][calls[0].column - 1 :].startswith("rye_search(")
    assert lines[calls[1].line - 1][calls[1].column - 1 :].startswith("<execute ")


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        ('<search item_type="directive" query="{input:environment}" />', ("search", "directive", None)),
        ('<sign item_type="directive" item_id="{input:environment}"/>', ("sign", "directive", "{input:environment}")),
        ("<load item_type='knowledge' item_id='a/b'></load>", ("load", "knowledge", "a/b")),
        ('<execute item_type="tool" item_id="a/b" content="<x> &amp; y"/>', ("execute", "tool", "a/b")),
        ('<execute\n  item_type="tool"\n  item_id="a/b"\n/>', ("execute", "tool", "a/b")),
    ],
)
def test_action_elements(element: str, expected: tuple[str, str, str | None]) -> None:
    content = text(after=step(element))
    assert findings(content) == []
    (call,) = value(content).calls
    assert (call.primary, call.item_type, call.item_id) == expected


def test_action_elements_in_code_or_without_item_are_no_calls() -> None:
    for body in (
        '`<execute item_type="tool" item_id="a"/>`',
        "```\n<sign item_type='tool' item_id='a'/>\n```",
        "<load>",
    ):
        assert value(text(after=step(body))).calls == ()


def test_criteria_are_one_line_each() -> None:
    directive = value(
        text(after=step("x") + "<success_criteria>\n<criterion>a\n  b</criterion>\n</success_criteria>\n")
    )
    assert [criterion.text for criterion in directive.success_criteria] == ["a b"]
    assert directive.success_criteria_source.startswith("<success_criteria>\n<criterion>")
    assert directive.success_criteria_source.endswith("</success_criteria>")


def test_a_missing_process_is_a_warning_at_the_directive() -> None:
    found = only(text(after=""), "D070")
    assert (found.severity, found.line) == ("warning", 6)


def test_criteria_inside_the_fence_are_an_error() -> None:
    from tests.items.test_directive_sample import changed

    content = changed("\n</directive>", "<success_criteria><criterion>x</criterion></success_criteria>\n</directive>")
    assert findings(content) == [("error", "D073")]
