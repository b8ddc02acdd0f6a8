"""Which hooks run, and with which inputs (DESIGN §8, §9; DECISIONS Directives 15)."""

from __future__ import annotations

from rye.items.directive.expressions import ExpressionError, parse
from rye.items.directive.model import Hook
from rye.rendering.hooks import evaluate_hooks, substitute


def hook(when: str, item_id: str = "request-rights", item_type: str = "directive", **inputs: str) -> Hook:
    try:
        expression = parse(when)
    except ExpressionError:
        expression = None
    return Hook(
        when=when,
        expression=expression,
        item_type=item_type,
        item_id=item_id,
        inputs=tuple(inputs.items()),
        line=1,
        column=1,
        when_line=2,
        when_column=1,
    )


CONTEXT: dict[str, object] = {
    "cost": {"current": 95, "limit": 100},
    "error": {"type": "permission_denied", "resource": "a/b", "codes": [1, 2], "fatal": True, "note": None},
}


def test_hooks_fire_in_document_order() -> None:
    hooks = [
        hook("cost.current > cost.limit * 0.9", "warn-cost"),
        hook('error.type == "other"', "never"),
        hook('error.type == "permission_denied"', "ask", resource="${error.resource}"),
        hook("cost.current", "truthy-is-not-true"),
        hook("cost.current >", "broken"),
    ]
    found = evaluate_hooks(hooks, CONTEXT, ["rye.execute.directive.warn-*"])
    assert found.as_json() == {
        "actions": [
            {
                "item_type": "directive",
                "item_id": "warn-cost",
                "inputs": {},
                "required": "rye.execute.directive.warn-cost",
                "allowed": True,
            },
            {
                "item_type": "directive",
                "item_id": "ask",
                "inputs": {"resource": "a/b"},
                "required": "rye.execute.directive.ask",
                "allowed": False,
            },
        ],
        "skipped": [
            {
                "item_type": "directive",
                "item_id": "never",
                "when": 'error.type == "other"',
                "reason": "the condition is not true",
            },
            {
                "item_type": "directive",
                "item_id": "truthy-is-not-true",
                "when": "cost.current",
                "reason": "the condition is not true",
            },
            {
                "item_type": "directive",
                "item_id": "broken",
                "when": "cost.current >",
                "reason": "the condition does not parse",
            },
        ],
    }


def test_a_whole_variable_keeps_its_type() -> None:
    for name in ("resource", "codes", "fatal", "note"):
        error = CONTEXT["error"]
        assert isinstance(error, dict)
        assert substitute(f"${{error.{name}}}", CONTEXT) == error[name]
    assert substitute("${error.fatal}", CONTEXT) is True
    assert substitute("${error}", CONTEXT) == CONTEXT["error"]
    assert substitute("${missing.name}", CONTEXT) is None


def test_inside_other_text_it_becomes_text() -> None:
    assert substitute("<${error.fatal}|${error.codes}|${error.note}|${missing}>", CONTEXT) == "<true|[1,2]||>"
    assert substitute(" ${error.codes}", CONTEXT) == " [1,2]"
    assert substitute("true", CONTEXT) == "true"


def test_what_is_no_variable_stays_as_written() -> None:
    for text in (
        "${}",
        "${a b}",
        "${1}",
        "${cost.current + 1}",
        "$error",
        "${error.",
        "{error}",
        "${error.fatal",
        "${a-b}",
    ):
        assert substitute(text, CONTEXT) == text


def test_one_pass_only() -> None:
    hostile: dict[str, object] = {"a": "${secret}", "b": "${", "secret": "leaked", "cret": "x"}
    assert substitute("${a}", hostile) == "${secret}"
    assert substitute("x${a}", hostile) == "x${secret}"
    assert substitute("${b}secret}", hostile) == "${secret}"


def test_what_would_run_is_never_taken_from_the_context() -> None:
    (run,) = evaluate_hooks([hook("true", "${error.resource}")], CONTEXT, ["rye.*"]).actions
    assert run.item_id == "${error.resource}"
    assert run.required is None
    assert not run.allowed


def test_knowledge_and_tools_are_checked_as_executions() -> None:
    hooks = [hook("true", "a/b", kind) for kind in ("tool", "knowledge", "agent")]
    runs = evaluate_hooks(hooks, {}, ["rye.execute.knowledge.*", "rye.load.tool.*"]).actions
    assert [run.allowed for run in runs] == [False, True, False]
