"""Ranges as npm's ``semver`` reads them (DESIGN §6).

``npm_semver_table.csv`` has ranges, versions and the result from npm's package ``semver`` 7.8.6 (``yes``, ``no``, or
``invalid`` for a range that it refuses), from ``new Range(range).test(version)`` with default options. It has about 200
hand-written ranges, valid ones of every form and some invalid ones, and 220 generated from a fixed seed, each with versions
inside and outside the range.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.errors import UsageError
from rye.resolution.ranges import Range
from rye.resolution.versions import Version, VersionSet

TABLE = Path(__file__).with_name("npm_semver_table.csv")


def parsed(text: str) -> Range | UsageError:
    """The range, or the error that refuses it. Any other exception fails the test."""
    try:
        return Range.parse(text)
    except UsageError as error:
        return error


def within(version: str, text: str) -> bool:
    return Version.parse(version) in Range.parse(text)


class TestAgreementWithNpm:
    def rows(self) -> list[dict[str, str]]:
        with TABLE.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_every_row_of_the_table(self) -> None:
        disagreeing = []
        for row in self.rows():
            wanted = parsed(row["range"])
            if isinstance(wanted, UsageError):
                found = "invalid"
            else:
                found = "yes" if Version.parse(row["version"]) in wanted else "no"
            if found != row["expected"]:
                disagreeing.append((row, found))
        assert disagreeing == []

    def test_the_table_is_large_and_says_yes_no_and_invalid(self) -> None:
        rows = self.rows()
        assert len({(row["range"], row["version"]) for row in rows}) == len(rows) > 1500
        counts = {answer: sum(row["expected"] == answer for row in rows) for answer in ("yes", "no", "invalid")}
        assert counts["yes"] > 500
        assert counts["no"] > 500
        assert counts["invalid"] > 30


class TestPreReleasesOnlyOnRequest:
    def test_a_range_without_one_takes_none(self) -> None:
        assert not within("1.3.0-rc.1", "^1.2.3")
        assert not within("1.3.0-rc.1", "*")
        assert not within("1.3.0-rc.1", ">=1.0.0")

    def test_a_named_one_lets_in_those_of_the_same_release_only(self) -> None:
        assert within("1.2.3-rc.2", "^1.2.3-rc.1")
        assert within("1.3.0", "^1.2.3-rc.1")
        assert not within("1.3.0-rc.1", "^1.2.3-rc.1")
        assert not within("1.2.3-beta", "^1.2.3-rc.1")

    def test_each_alternative_asks_for_itself(self) -> None:
        assert not within("2.0.0-rc.1", "^1.2.3-rc.1 || ^2.0.0")
        assert within("2.0.0-rc.1", "^1.2.3 || ^2.0.0-rc.0")

    def test_the_bound_of_a_caret_has_no_prereleases_below_it(self) -> None:
        assert not within("2.0.0-alpha", "^1.2.3")
        assert Version.parse("2.0.0-alpha") not in Range.parse("^1.2.3").versions

    @settings(max_examples=200, deadline=None)
    @given(st.sampled_from(["^1.2", "1.2.3-a || *", ">=1.0.0-0 <2", "~1.2.3-b || 3", "<1.2.3-rc"]))
    def test_what_is_asked_for_lies_between_the_bounds(self, text: str) -> None:
        assert Range.parse(text).prereleases <= Range.parse(text).versions


class TestCommas:
    @pytest.mark.parametrize(
        "text", [">=1.2,<2", ">=1.2, <2", ">=1.2 ,<2", " >=1.2 , <2 ", "^1.2, ^1", "1.2 - 1.9, <2"]
    )
    def test_mean_and_as_in_cargo(self, text: str) -> None:
        assert within("1.2.0", text)
        assert not within("2.0.0", text)
        assert not within("1.1.0", text)

    def test_join_the_prerelease_requests_of_both_sides(self) -> None:
        assert within("1.2.3-rc.1", ">=1.2.3-rc.0, <2")

    def test_bind_tighter_than_alternatives(self) -> None:
        assert within("3.0.0", ">=1, <2 || 3")

    @pytest.mark.parametrize(
        ("text", "column"), [(",", 1), ("1,", 3), (",1", 1), (">=1,,<2", 5), (">=1 , , <2", 6), ("1 || ,2", 5)]
    )
    def test_need_something_on_both_sides(self, text: str, column: int) -> None:
        with pytest.raises(UsageError) as raised:
            Range.parse(text)
        assert raised.value.details["column"] == column


class TestErrors:
    @pytest.mark.parametrize(
        ("text", "column", "said"),
        [
            ("hello", 1, "expected a version"),
            ("^1.2 latest", 6, "expected a version"),
            ("=>1.2", 1, "Write >=."),
            ("!=1.2", 1, "<1.2.3 || >1.2.3"),
            (">=1.2 && <2", 7, "space"),
            ("1.2 | 2", 5, "'||'"),
            (">=", 3, "has no version"),
            ("1 || ^", 7, "has no version"),
            (">=01.2.3", 1, "leading zeros"),
            (">=1.2.3<2.0.0", 8, "space between"),
            ("1.2.3.4", 1, "expected a version"),
            ("==1.2.3", 2, "one operator"),
            ("1.x.3", 1, "follows an x"),
            ("1 - 2 - 3", 5, "each side"),
            ("^9223372036854775807.0.0", 2, "upper bound"),
            ("9223372036854775808.0.0", 1, "above"),
            ("١.2.3", 1, "expected a version"),
            ("1.2.3\u00a0", 1, "expected a version"),
        ],
    )
    def test_name_the_column_and_what_to_write(self, text: str, column: int, said: str) -> None:
        with pytest.raises(UsageError) as raised:
            Range.parse(text)
        error = raised.value
        assert (error.code, error.details["column"]) == ("bad-range", column)
        assert error.hint
        assert said in error.message + error.hint

    def test_a_range_is_at_most_1024_characters(self) -> None:
        assert within("1.0.0", "1" + " " * 1023)
        with pytest.raises(UsageError, match="1025 characters"):
            Range.parse("1" + " " * 1024)

    @pytest.mark.parametrize(
        "unit", ["1 ", "1||", ">=1.0.0-a.a.a ", "~>", "- ", "1.", "0", "-", "x.", "=v", " ", "1 - ", "^1.2.3-rc.1||"]
    )
    def test_hostile_ranges_take_no_time(self, unit: str) -> None:
        start = time.thread_time()
        parsed((unit * 1024)[:1024])
        assert time.thread_time() - start < 0.5

    @settings(max_examples=500, deadline=None)
    @given(st.text(alphabet="012.xX*v-+ab,|<>=^~ \t\n", max_size=30))
    def test_any_text_is_a_range_or_a_bad_range(self, text: str) -> None:
        wanted = parsed(text)
        if isinstance(wanted, UsageError):
            assert wanted.code == "bad-range"
            column = wanted.details["column"]
            assert isinstance(column, int)
            assert 1 <= column <= len(text) + 1
        else:
            assert Range.parse(str(wanted)) == wanted
            assert Range.parse(str(wanted)).versions == wanted.versions


class TestValue:
    def test_is_shown_as_written_without_extra_blanks(self) -> None:
        assert str(Range.parse("  >=1.2\n  <2 ")) == ">=1.2 <2"
        assert str(Range.parse("")) == "*"

    def test_any_is_any(self) -> None:
        assert Range.parse("*").is_any()
        assert Range.parse("").versions == VersionSet.everything()
        assert not Range.parse("^1").is_any()

    def test_exactly_one_version(self) -> None:
        wanted = Range.exactly(Version.parse("1.2.3-rc.1"))
        assert Version.parse("1.2.3-rc.1") in wanted
        assert Version.parse("1.2.3-rc.2") not in wanted
