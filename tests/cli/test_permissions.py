"""``rye permissions``: what an item may do, one action of a chain of callers, two versions compared (DESIGN §7, §9)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenes.person import Person

DECLARED = "      <search>\n        <knowledge>*</knowledge>\n      </search>\n"


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    return Person(tmp_path)


def directive(rye: Person, name: str, permissions: str) -> str:
    path = rye.new("directive", f"ops/{name}")
    text = path.read_text()
    assert DECLARED in text
    path.write_text(text.replace(DECLARED, permissions))
    return f"ops/{name}"


def test_show_lists_tiers_the_worst_first(rye: Person) -> None:
    item = directive(rye, "deploy", "<execute><tool>*</tool></execute><search><tool>acme/x</tool></search>")
    document = rye.ok("permissions", "show", item, "--json").json
    tiers = [entry["tier"] for entry in document["capabilities"]]
    assert document["highest"] == tiers[0] == "elevated"
    assert tiers[-1] == "safe"
    assert {entry["capability"] for entry in document["capabilities"]} == {
        "rye.execute.tool.*",
        "rye.search.tool.acme.x",
    }


def test_nothing_declared_is_everything_denied(rye: Person) -> None:
    agent = rye.new("agent", "planner")
    assert rye.ok("permissions", "show", str(agent), "--json").json["capabilities"] == []
    denied = rye.run("permissions", "check", "planner", "execute", "tool", "acme/shell/run", "--json")
    assert (denied.code, denied.json["allowed"]) == (1, False)


def test_check_says_what_is_required_and_what_allows_it(rye: Person) -> None:
    item = directive(rye, "deploy", "<execute><tool>acme/shell/*</tool></execute>")
    allowed = rye.ok("permissions", "check", item, "execute", "tool", "acme/shell/run", "--json").json
    assert (allowed["allowed"], allowed["required"], allowed["by"]) == (
        True,
        "rye.execute.tool.acme.shell.run",
        "rye.execute.tool.acme.shell.*",
    )
    assert rye.run("permissions", "check", item, "sign", "tool", "acme/shell/run").code == 1


def test_every_caller_must_allow_it(rye: Person) -> None:
    """DESIGN §7: a call chain is a conjunction."""
    wide = directive(rye, "wide", "<execute>*</execute>")
    narrow = directive(rye, "narrow", "<execute><tool>acme/read</tool></execute>")
    words = ("execute", "tool", "acme/write")
    assert rye.run("permissions", "check", wide, *words).code == 0
    assert rye.run("permissions", "check", wide, *words, "--parent", narrow).code == 1
    assert rye.run("permissions", "check", narrow, *words, "--parent", wide).code == 1
    read = ("execute", "tool", "acme/read", "--parent", wide, "--parent", narrow, "--json")
    assert rye.ok("permissions", "check", narrow, *read).json["allowed"] is True


@pytest.mark.parametrize("words", [("run", "tool", "a"), ("execute", "agent", "a"), ("execute", "tool", "A/b"), ()])
def test_words_that_are_no_action_are_usage_errors(rye: Person, words: tuple[str, ...]) -> None:
    """DECISIONS Directives 16."""
    item = directive(rye, "deploy", DECLARED)
    result = rye.run("permissions", "check", item, *words, "--json")
    assert result.code == 2
    assert result.error["message"]


def test_diff_exits_1_only_when_it_widened(rye: Person) -> None:
    old = directive(rye, "old", "<execute><tool>acme/a</tool></execute>")
    new = directive(rye, "new", "<execute><tool>acme/*</tool></execute>")
    wider, narrower = rye.run("permissions", "diff", old, new, "--json"), rye.run("permissions", "diff", new, old)
    assert (wider.code, wider.json["widened"], wider.json["equal"]) == (1, ["rye.execute.tool.acme.*"], False)
    assert wider.json["witnesses"]["rye.execute.tool.acme.*"].startswith("rye.execute.tool.acme.")
    assert (narrower.code, narrower.stdout[:1]) == (0, "-")
    same = rye.ok("permissions", "diff", old, old, "--json").json
    assert (same["widened"], same["narrowed"], same["equal"]) == ([], [], True)


def test_what_does_not_parse_is_refused(rye: Person) -> None:
    rye.write(".ai/directives/ops/bad.md", "nothing")
    for words in (("show",), ("check",), ("diff",)):
        extra = {"check": ("execute", "tool"), "diff": ("ops/bad",)}.get(words[0], ())
        assert rye.run("permissions", *words, "ops/bad", *extra, "--json").error["code"] == "does-not-parse"


def test_findings_of_a_file_that_breaks_a_rule_stand_in_the_document(rye: Person) -> None:
    """DECISIONS Directives 13: reading continues, and programs also get the findings."""
    item = directive(rye, "deploy", "text <execute>*</execute>")
    check = rye.run("permissions", "check", item, "execute", "tool", "a/b", "--json").json
    assert (check["allowed"], check["diagnostics"][0]["code"]) == (False, "R06")
    for words in (("show", item), ("diff", item, item)):
        found = rye.ok("permissions", *words, "--json").json["diagnostics"]
        assert {finding["code"] for finding in found if finding["severity"] == "error"} == {"R06"}
