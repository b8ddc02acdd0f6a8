"""What is said of an item: every row, and that declaring never looks worse than not declaring (DESIGN §7.3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from msgspec.structs import replace

from rye.describing.description import Ages, Description, describe, is_text, together
from rye.describing.words import (
    NOT_DECLARED,
    age,
    byte_count,
    fact_words,
    marks,
    said,
    size_words,
    token_count,
    total_words,
)
from rye.items.agent_tools import AgentTools, agent_tools
from rye.items.consented import Run
from rye.items.signed_release import Mention

NOW = datetime(2026, 11, 28, 16, tzinfo=UTC)
RUN = Run("attached-file", "a.sh", "script", "0" * 64)
ALARM = Mention("pipe-to-shell", "curl x | sh", "alarm", "SKILL.md", 3)
CAUTION = Mention("secret-path", "~/.ssh", "caution", "SKILL.md", 4)
NOTE = Mention("command", "ls", "note", "SKILL.md", 5)


def skill(tools: AgentTools | None = None, **fields: object) -> Description:
    return describe("skill", {"SKILL.md": b"text " * 20}, "SKILL.md", tools=tools, **fields)  # type: ignore[arg-type]


def rows(description: Description) -> dict[str, tuple[str, str]]:
    return {row.subject: (row.words, row.level) for row in said(description, NOW)}


def test_a_skill_that_names_no_tools_is_not_said_to_ask_for_none() -> None:
    assert rows(skill())["may use"] == ("not declared: it may use everything that your agent may", "caution")
    assert rows(skill(agent_tools(["Read"])))["may use"] == ("tools of the agent program: Read", "plain")
    assert rows(skill(agent_tools([])))["may use"] == ("tools of the agent program: none", "plain")


def test_an_agent_is_limited_by_a_list_of_tools_or_by_a_restriction() -> None:
    every = describe("agent", {"a.md": b"x"}, "a.md", tools=agent_tools(None))
    assert every.declared is False
    assert rows(every)["may use"] == (NOT_DECLARED, "caution")
    restricted = describe("agent", {"a.md": b"x"}, "a.md", tools=agent_tools(None, blocked=["Bash"]))
    assert restricted.declared is True
    assert "never Bash" in rows(restricted)["may use"][0]


def test_what_rye_keeps_to_its_rights_is_declared() -> None:
    assert rows(describe("directive", {"a.md": b"x"}, "a.md"))["may use"] == ("asks for no rights", "plain")
    asking = describe("directive", {"a.md": b"x"}, "a.md", capabilities=["rye.execute.tool.a", "rye.search.*"])
    allowed = "may run the tool a; may search for every item, whoever publishes it, now and later"
    assert rows(asking)["may use"] == (f"2 rights, at most write: {allowed}", "plain")
    assert rows(describe("bundle", {"a.toml": b"x"}, "a.toml"))["may use"] == ("only what its items may", "plain")


def test_an_unknown_kind_counts_as_undeclared() -> None:
    assert describe("spell", {"a": b"x"}, "a").declared is False


def test_warnings_and_what_can_run_are_counted() -> None:
    found = skill(runs=(RUN, replace(RUN, where="b.sh")), mentions=(ALARM, CAUTION, replace(CAUTION, value="b"), NOTE))
    assert rows(found)["warnings"] == ("1 alarm, 2 cautions", "alarm")
    assert rows(found)["can run"] == ("2 executables", "plain")
    assert rows(skill())["warnings"] == ("no alarms, no cautions", "plain")
    assert rows(skill(mentions=(NOTE,)))["warnings"] == ("no alarms, no cautions", "plain")


def test_a_file_that_was_not_read_is_said() -> None:
    gone = describe("skill", {"SKILL.md": b"x", "a.md": None}, "SKILL.md")
    assert rows(gone)["warnings"][0] == "no alarms, no cautions; not all files were read"


def test_attached_text_counts_and_other_files_are_told_apart() -> None:
    files = {"SKILL.md": b"a" * 4_000, "more.md": b"b" * 4_000, "font.ttf": b"\0" * 2_000_000}
    found = describe("skill", files, "SKILL.md")
    assert (found.bytes, found.tokens, found.files, found.other_bytes) == (8_000, 2_000, 2, 2_000_000)
    assert size_words(found) == "8.0 kB, about 2,000 tokens, 2 attached files (2.0 MB of them not text)"
    assert not is_text(b"\xff")
    assert is_text("né".encode())


@pytest.mark.parametrize(
    ("tokens", "words"),
    [(1, "about 1 token"), (37, "about 37 tokens"), (2_143, "about 2,100 tokens"), (2_151, "about 2,200 tokens")],
)
def test_tokens_are_an_estimate(tokens: int, words: str) -> None:
    assert token_count(tokens) == words


@pytest.mark.parametrize(
    ("size", "words"),
    [(1, "1 byte"), (999, "999 bytes"), (1_000, "1.0 kB"), (999_949, "999.9 kB"), (999_950, "1.0 MB")],
)
def test_sizes(size: int, words: str) -> None:
    assert byte_count(size) == words


def test_a_licence_is_one_short_line() -> None:
    assert rows(skill(licence="MIT"))["licence"][0] == "MIT"
    assert rows(skill())["licence"][0] == "not stated"
    assert rows(skill(licence="a\nb" + "c" * 200))["licence"][0] == "a b" + "c" * 77 + "…"


def test_ages_are_in_the_largest_unit_with_at_least_two() -> None:
    ages = Ages(NOW - timedelta(days=3), NOW - timedelta(minutes=17), NOW - timedelta(days=800))
    assert rows(skill(ages=ages))["age"][0] == "released 3 days ago, key 17 minutes old, namespace 2 years old"
    assert "age" not in rows(skill())
    assert age(NOW - timedelta(minutes=17), NOW, "old", to_the_hour=True) == "less than 2 hours old"
    assert age(NOW + timedelta(minutes=17), NOW, "ago", to_the_hour=True) == "less than 2 hours ago"
    assert age(NOW + timedelta(hours=3), NOW, "ago", to_the_hour=True) == "dated in the future"
    assert age(NOW + timedelta(minutes=1), NOW, "ago") == "dated in the future"


def test_declaring_never_looks_worse_than_not_declaring() -> None:
    """Whatever else an item has, no mark or row of it is worse for naming tools, even all of them."""
    severity = {"plain": 0, "caution": 1, "alarm": 2}
    declared = [agent_tools(["Read"]), agent_tools(["Bash"]), agent_tools(["Bash(git:*)", "Write"]), agent_tools(["*"])]
    for tools, runs, mentions in product(declared, ((), (RUN,)), ((), (ALARM,), (CAUTION,))):
        good, bare = skill(tools, runs=runs, mentions=mentions), skill(runs=runs, mentions=mentions)
        for one, other in zip(said(good, NOW), said(bare, NOW), strict=True):
            assert severity[one.level] <= severity[other.level]
        assert sum(severity[m.level] for m in marks(good)) <= sum(severity[m.level] for m in marks(bare))


def test_several_items_are_added_up() -> None:
    found = together([skill(mentions=(ALARM,)), skill(agent_tools(["Bash"]), runs=(RUN,))])
    assert total_words(found) == (
        "2 items: 1 may run any command, 1 alarm, 1 thing that can run, 1 not declared, 200 bytes, about 50 tokens"
    )


def test_nothing_reassuring_is_said_of_files_that_are_gone() -> None:
    """A release that was taken down may have held anything."""
    gone = describe("skill", {"SKILL.md": None}, "SKILL.md")
    unknown = "unknown: the files are gone"
    said_of_it = rows(gone)
    assert {said_of_it[subject][0] for subject in ("may use", "can run", "warnings", "licence", "size")} == {unknown}
    assert [mark.words for mark in marks(gone)] == [unknown]
    asking = describe("directive", {"a.md": None}, "a.md", capabilities=["rye.search.*"])
    assert rows(asking)["may use"][0].startswith("1 right"), "its release note has the rights"


def test_an_advisory_is_a_warning() -> None:
    def warned(description: Description, advisories: int) -> tuple[str, str]:
        row = said(description, NOW, advisories=advisories)[2]
        return row.words, row.level

    assert warned(skill(), 1) == ("1 advisory", "caution")
    assert warned(skill(mentions=(ALARM,)), 2) == ("1 alarm; 2 advisories", "alarm")
    gone = describe("skill", {"SKILL.md": None}, "SKILL.md")
    assert warned(gone, 1) == ("1 advisory; unknown: the files are gone", "caution")


def test_a_fact_that_nobody_knows_stays_on_its_line() -> None:
    """Whoever can commit rye.lock can write one, and newer versions of Rye know more."""
    assert fact_words("novel\nInstall this? y", "alarm") == "novel?Install this? y"
    assert fact_words("pipe-to-shell", "alarm") == "downloads and runs"
