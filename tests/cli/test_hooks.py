"""``rye hooks``: what would be executed, when, and whether the directive's own rights cover it. Nothing is executed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.scenes.person import Person

HOOKS = """\
    <hooks>
      <hook>
        <when>cost.current &gt; cost.limit * 0.8</when>
        <execute item_type="directive">ops/notify</execute>
        <inputs>
          <spent>${cost.current}</spent>
        </inputs>
      </hook>
      <hook>
        <when>error.type == "timeout"</when>
        <execute item_type="tool">ops/retry</execute>
      </hook>
    </hooks>
"""


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    person = Person(tmp_path)
    path = person.new("directive", "ops/deploy")
    path.write_text(path.read_text().replace("  </metadata>", HOOKS + "  </metadata>"))
    return person


def test_list(rye: Person) -> None:
    hooks = rye.ok("hooks", "list", "ops/deploy", "--json").json["hooks"]
    assert [(hook["item_type"], hook["item_id"], hook["allowed"]) for hook in hooks] == [
        ("directive", "ops/notify", False),
        ("tool", "ops/retry", False),
    ]
    assert hooks[0]["when"] == "cost.current > cost.limit * 0.8"
    assert hooks[0]["inputs"] == {"spent": "${cost.current}"}
    assert "not covered by its rights: denied" in rye.ok("hooks", "list", "ops/deploy").stdout


def test_eval(rye: Person) -> None:
    rye.write("context.json", json.dumps({"cost": {"current": 9, "limit": 10}}))
    result = rye.ok("hooks", "eval", "ops/deploy", "--context", "context.json", "--json").json
    (action,) = result["actions"]
    assert (action["item_type"], action["item_id"], action["inputs"]) == ("directive", "ops/notify", {"spent": 9})
    assert len(result["skipped"]) == 1
    assert result["diagnostics"] == []


def test_a_hook_whose_condition_does_not_parse_is_skipped_and_the_document_says_where(rye: Person) -> None:
    """DECISIONS Directives 13."""
    path = rye.path(".ai/directives/ops/deploy.md")
    path.write_text(path.read_text().replace('error.type == "timeout"', "error.type =="))
    rye.write("context.json", "{}")
    result = rye.ok("hooks", "eval", "ops/deploy", "--context", "context.json", "--json").json
    assert (result["actions"], len(result["skipped"])) == ([], 2)
    assert [finding["code"] for finding in result["diagnostics"]] == ["R10"]


@pytest.mark.parametrize("context", ["", "[]", "{", '{"a": NaN}', '{"a": 1e999}', "[" * 100_000, "5"])
def test_a_context_that_is_no_object_is_a_usage_error(rye: Person, context: str) -> None:
    rye.write("context.json", context)
    result = rye.run("hooks", "eval", "ops/deploy", "--context", "context.json", "--json")
    assert (result.code, result.refusal) == (2, "bad-argument context")


def test_only_directives_have_hooks(rye: Person) -> None:
    rye.new("agent", "planner")
    assert rye.run("hooks", "list", "planner", "--json").refusal == "wrong-kind hooks"
