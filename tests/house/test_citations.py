"""Every rule cited by source, tests and documentation can be looked up in ``docs/design``; the table of rules is up to date."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.house import rules_table
from tests.house.citations import (
    DESIGN,
    ROOT,
    Rule,
    cited,
    codes,
    dangling,
    decisions,
    directive_codes,
    families,
    files,
    headings,
    rules,
)

pytestmark = pytest.mark.slow

ADRS = sorted((DESIGN / "adr").glob("*.md"))


@cache
def known() -> dict[Rule, str]:
    """Everything that can be cited."""
    return rules()


@cache
def letters() -> dict[str, int]:
    return families(known())


@cache
def texts() -> dict[str, str]:
    """Every file that cites, by path."""
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in files()}


@cache
def citations() -> dict[str, list[Rule]]:
    """What each file cites."""
    return {path: list(cited(text, letters())) for path, text in texts().items()}


def test_every_citation_leads_to_a_rule() -> None:
    found = [(path, rule) for path, rules_here in citations().items() for rule in rules_here]
    assert [f"{path}: {' '.join(rule)}" for path, rule in found if rule not in known()] == []
    in_words = [rule for _, rule in found if len(rule.book) > 1]
    assert len(in_words) >= 600
    assert {rule.book for rule in in_words} >= {
        "DESIGN",
        "Directives",
        "Overrides",
        "Agents",
        "Roles",
        "Skills",
        "Every kind",
    }


def test_no_mention_of_the_design_is_without_a_place() -> None:
    assert [f"{path}: {words}" for path, text in texts().items() for words in dangling(text)] == []


def test_every_code_of_a_finding_has_a_meaning() -> None:
    """Every code that a reader reports is in the table of a reader's docstring or, for a directive, of error codes."""
    given = set()
    for path in (ROOT / "rye").rglob("*.py"):
        for code in re.findall(r"\"([A-Z]\d{2,3})\"", path.read_text("utf-8")):
            if letters().get(code[0]) == len(code) - 1:
                given.add(Rule(code[0], code))
    assert len(given) >= 100
    assert given - set(known()) == set()


def test_numbers_of_a_part_have_no_gap() -> None:
    parts: dict[str, list[int]] = {}
    for rule, _ in decisions():
        if rule.number:
            parts.setdefault(rule.book, []).append(int(rule.number))
    sizes = {part: len(numbers) for part, numbers in parts.items()}
    assert [numbers for numbers in parts.values() if numbers != list(range(1, len(numbers) + 1))] == []
    assert [sizes[part] for part in ("Directives", "Overrides", "Agents", "Roles", "Skills")] >= [20, 19, 12, 6, 5]


def without_tests(page: str) -> list[str]:
    """The lines of the table, those with a rule up to the tests."""
    return [line.rpartition(" | ")[0] if line.startswith("|") else line for line in page.splitlines()]


def test_the_table_has_every_rule() -> None:
    stored = (DESIGN / "rules.md").read_text("utf-8")
    assert without_tests(stored) == without_tests(rules_table.table(known(), {rule: [] for rule in known()})), (
        "run `make rules-table`"
    )


def test_the_table_names_tests_that_cite_the_rule() -> None:
    """It need not name the newest one: adding a test does not make the table stale."""
    tests = rules_table.tests_by_rule(known(), [pair for pair in citations().items() if pair[0].startswith("tests/")])
    shown = [rule for rule in known() if rule.number and " " not in rule.number]
    rows = re.findall(r"^\| [^|\n]+ \| .+ \| (.*) \|$", (DESIGN / "rules.md").read_text("utf-8"), re.MULTILINE)
    named = [re.findall(r"`([^`]+)`", row) for row in rows if row != "tests"]
    assert len(named) == len(shown)
    for rule, paths in zip(shown, named, strict=True):
        assert {f"tests/{path}" for path in paths} <= set(tests[rule]), f"{rule}: run `make rules-table`"
        assert bool(paths) == bool(tests[rule]), f"{rule}: run `make rules-table`"


@pytest.mark.parametrize("path", ADRS, ids=lambda path: path.stem)
def test_a_choice_has_one_form(path: Path) -> None:
    text = path.read_text("utf-8")
    headings_here = [heading for heading in re.findall(r"^## (.+)$", text, re.MULTILINE) if heading != "Measured"]
    assert headings_here == ["Context", "Decision", "Consequences", "When to reconsider"]
    title = re.match(r"# (\d{4}): (.+)\n\n\*\*Status:\*\* (?:accepted|replaced by \d{4})\.\n", text)
    assert title is not None
    assert path.name.startswith(title[1] + "-")
    assert f"[{title[1]}](adr/{path.name}) | {title[2]} |" in (DESIGN / "README.md").read_text("utf-8")
    assert len(text.split()) <= 600, "one page"


def test_choices_are_numbered_without_a_gap() -> None:
    assert [int(path.name[:4]) for path in ADRS] == list(range(1, len(ADRS) + 1))


class TestReadingACitation:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("(DESIGN §6).", {("DESIGN", "6")}),
            ("DESIGN 6.1, 7.2)", {("DESIGN", "6.1"), ("DESIGN", "7.2")}),
            ("DESIGN §5 Content, and", {("DESIGN", "5"), ("DESIGN", "5 Content")}),
            (
                "DESIGN 6.1, Complete and Agreed here)",
                {("DESIGN", "6.1"), ("DESIGN", "6.1 Complete"), ("DESIGN", "6.1 Agreed here")},
            ),
            (
                'DESIGN §4, "Place" and "Finer points".',
                {("DESIGN", "4"), ("DESIGN", "4 Place"), ("DESIGN", "4 Finer points")},
            ),
            ("DESIGN §7: a call chain", {("DESIGN", "7")}),
            ("DESIGN\n    # 6.1 says", {("DESIGN", "6.1")}),
            (
                "DECISIONS Overrides 11–13, 17.",
                {("Overrides", n) for n in ("11", "12", "13", "17")} | {("Overrides", "")},
            ),
            (
                "DECISIONS Agents 5, Overlays 3)",
                {("Agents", "5"), ("Agents", ""), ("Role directives and formula overlays", "3")},
            ),
            ('DECISIONS "Every kind".', {("Every kind", "")}),
            ("(design/server.md 4)", {("server", "4")}),
            ("house 1; design: agents 3.1", {("house", "1"), ("agents", "3.1")}),
            ("gives R07 and H2, UTF8", {("R", "R07")}),
        ],
    )
    def test_finds_what_is_meant(self, text: str, found: set[tuple[str, str]]) -> None:
        assert {tuple(rule) for rule in cited(text, {"R": 2, "H": 2})} == found

    def test_a_rule_that_does_not_exist_is_found_as_cited(self) -> None:
        [missing] = [rule for rule in cited("DECISIONS Directives 99", letters()) if rule.number]
        assert missing == Rule("Directives", "99")
        assert missing not in known()

    def test_words_without_a_place_are_told(self) -> None:
        assert dangling("as DECISIONS say, and DESIGN §4 says") == ["DECISIONS say, and DESIGN §4 says"]


def test_named_paragraphs_codes_and_headings_are_read(tmp_path: Path) -> None:
    page = "## 6. Locks\n\n**Agreed here.** x\n\n### 6.1 More\n\n* **Form.** y\n"
    assert [tuple(rule) for rule, _ in headings("DESIGN", page)] == [
        ("DESIGN", "6"),
        ("DESIGN", "6 Agreed here"),
        ("DESIGN", "6.1"),
        ("DESIGN", "6.1 Form"),
    ]
    (tmp_path / "x.py").write_text('"""\nX01   error     The name. More.\n"""\n')
    assert list(codes(tmp_path)) == [(Rule("X", "X01"), "The name")]
    assert dict(directive_codes())[Rule("R", "R11")] == "Two inputs have the same name"
