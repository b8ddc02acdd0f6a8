"""``[audit] ignore``: read strictly, limited in time, and never silent (DESIGN 6.1)."""

from __future__ import annotations

from datetime import date

import pytest

from rye.installation.audit.choice import LEVELS, Level, check_rules, fails, set_aside
from rye.installation.audit.finding import HELP, RULE_SEVERITIES, RULES, Finding
from rye.project.manifest import Ignored, parse_manifest
from rye.text.tables import ManifestError

LINE = 'id = "yanked:directive:acme/work/item", until = "2026-12-31", reason = "We move in spring"'


def ignore(row: str) -> tuple[Ignored, ...]:
    return parse_manifest(f"[audit]\nignore = [{{ {row} }}]\n").ignored


def finding(rule: str, about: str | None = "directive:acme/work/item", advisory: str | None = None) -> Finding:
    return Finding(rule=rule, severity="warning", message="It is so.", path="rye.lock", about=about, advisory=advisory)


def test_a_line_is_read() -> None:
    expected = Ignored("yanked:directive:acme/work/item", date(2026, 12, 31), "We move in spring")
    assert ignore(LINE) == (expected,)
    assert ignore(LINE.replace('"2026-12-31"', "2026-12-31")) == (expected,)
    assert parse_manifest("").ignored == ()


@pytest.mark.parametrize(
    "row",
    [
        'id = "X-1", until = "2026-12-31"',
        'id = "X-1", reason = "x"',
        'until = "2026-12-31", reason = "x"',
        'id = "X-1", until = "2026-12-31", reason = ""',
        'id = "X-1", until = "2026-12-31", reason = "x", why = "y"',
        'id = "X-1", until = "2026-13-31", reason = "x"',
        'id = "X-1", until = "soon", reason = "x"',
        'id = "X-1", until = 2026, reason = "x"',
        'id = "X-1", until = 2026-12-31T00:00:00, reason = "x"',
        'id = "yanked", until = "2026-12-31", reason = "x"',
        'id = "yanked:acme/work/item", until = "2026-12-31", reason = "x"',
        'id = "yanked:thing:acme/work/item", until = "2026-12-31", reason = "x"',
        'id = "yanked:directive:*", until = "2026-12-31", reason = "x"',
        'id = "*", until = "2026-12-31", reason = "x"',
        'id = 7, until = "2026-12-31", reason = "x"',
    ],
)
def test_what_is_not_whole_is_an_error(row: str) -> None:
    with pytest.raises(ManifestError):
        ignore(row)


@pytest.mark.parametrize("text", ["ignore = 1", 'ignore = ["X-1"]', "ignor = []", 'level = "error"'])
def test_unknown_keys_and_other_forms_are_errors(text: str) -> None:
    with pytest.raises(ManifestError):
        parse_manifest(f"[audit]\n{text}\n")


def test_a_rule_must_exist() -> None:
    check_rules(ignore(LINE))
    check_rules(ignore(LINE.replace("yanked:directive:acme/work/item", "X-1")))
    with pytest.raises(ManifestError) as raised:
        check_rules(ignore(LINE.replace("yanked:", "yankd:")))
    assert "yanked" in (raised.value.hint or "")


@pytest.mark.parametrize(("day", "aside"), [(date(2026, 12, 31), 1), (date(2027, 1, 1), 0), (date(2020, 1, 1), 1)])
def test_a_line_counts_until_its_day_is_over(day: date, aside: int) -> None:
    kept, found = set_aside([finding("yanked")], ignore(LINE), day)
    assert (len(kept), len(found)) == (1 - aside, aside)
    if kept:
        assert "2026-12-31" in (kept[0].hint or "")


def test_a_line_is_about_its_rule_and_item_alone() -> None:
    others = [
        finding("deprecated"),
        finding("yanked", "directive:acme/work/item2"),
        finding("yanked", "tool:acme/work/item"),
        finding("extra-file", None),
    ]
    assert set_aside(others, ignore(LINE), date(2026, 1, 1)) == (others, [])


def test_an_advisory_is_named_by_its_number_or_its_item() -> None:
    found = [finding("advisory", advisory="RYE-1"), finding("advisory", advisory="RYE-2")]
    by_number = ignore(LINE.replace("yanked:directive:acme/work/item", "RYE-1"))
    assert set_aside(found, by_number, date(2026, 1, 1))[0] == [found[1]]
    by_item = ignore(LINE.replace("yanked:", "advisory:"))
    assert set_aside(found, by_item, date(2026, 1, 1))[0] == []


def test_a_dependency_that_rye_toml_names_without_a_kind() -> None:
    found = [finding("G1", "acme/work/item")]
    assert set_aside(found, ignore(LINE.replace("yanked:", "G1:")), date(2026, 1, 1))[0] == []


@pytest.mark.parametrize(
    ("severities", "failing"),
    [
        ((), ()),
        (("info",), ("info",)),
        (("warning", "info"), ("warning", "info")),
        (("error",), ("error", "warning", "info")),
    ],
)
def test_levels(severities: tuple[Level, ...], failing: tuple[Level, ...]) -> None:
    found = [Finding(rule="yanked", severity=severity, message="", path="") for severity in severities]
    assert tuple(level for level in LEVELS if fails(found, level)) == failing


def test_every_rule_has_help_and_a_severity() -> None:
    assert HELP.keys() == RULE_SEVERITIES.keys() == RULES.keys()
