"""Lines and tables fit the terminal without losing text, and an author's text never starts one of our lines."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.layout import Column, Line, columns, cut, flow, table

WORDS = st.text(alphabet="ab/:. `→日\u0301\u1b44", max_size=120)
ITEM = "directive:acme/workflows/rotate_all_production_credentials"


def texts(lines: list[Line]) -> list[str]:
    return ["".join(text for text, _ in line) for line in lines]


def laid(rows: list[list[str]], header: list[Column], width: int) -> list[str]:
    return texts(table(rows, header, width))


class TestFlow:
    @given(WORDS, st.integers(20, 70), st.integers(0, 8))
    def test_hard_broken_lines_fit_and_continue_indented(self, text: str, width: int, hang: int) -> None:
        first, *more = texts(flow([(text, None)], width, hang, hard=True))
        assert columns(first) <= width
        for line in more:
            assert columns(line) <= width
            assert line.startswith(" " * hang)

    @given(WORDS, st.integers(20, 70), st.booleans())
    def test_only_spaces_are_lost(self, text: str, width: int, hard: bool) -> None:
        shown = "".join(texts(flow([(text, None)], width, 4, hard=hard)))
        assert shown.replace(" ", "") == text.replace(" ", "")

    @given(WORDS, st.integers(0, 120), st.integers(20, 70))
    def test_styles_stay_with_their_text(self, text: str, place: int, width: int) -> None:
        spans = [(text[:place], "error"), (text[place:], None)]
        lines = flow(spans, width, 4)
        red = "".join(part for line in lines for part, style in line if style == "error")
        assert red.replace(" ", "") == text[:place].replace(" ", "")

    def test_a_word_stays_whole_so_that_it_can_be_copied(self) -> None:
        address = "https://registry.example.org/" + "x" * 80
        assert texts(flow([(f"see {address} for more", None)], 60, 2)) == ["see", f"  {address}", "  for more"]

    def test_a_command_is_not_parted_where_it_fits_on_a_line(self) -> None:
        shown = texts(flow([("Nothing was changed: run `rye install --discard-local-edits` to go on.", None)], 40, 2))
        assert "  `rye install --discard-local-edits` to" in shown

    def test_what_two_spaces_set_apart_stays_together(self) -> None:
        shown = texts(flow([("signed by SHA256:abc  (you never agreed to this signer)", None)], 40, 4))
        assert shown == ["signed by SHA256:abc", "    (you never agreed to this signer)"]

    @pytest.mark.parametrize("blank", [" ", "\u2800", "\u3164"])
    def test_an_author_cannot_begin_a_line_of_ours(self, blank: str) -> None:
        """If the terminal broke the line, it would continue at the left edge with text that the author chose."""
        said = f"      mentions host: x{blank * 53}+{blank}directive:acme/trusted{blank}1.0.0"
        first, *more = texts(flow([(said, None)], 60, 8, hard=True))
        assert columns(first) <= 60
        assert more
        assert all(line.startswith(" " * 8) and columns(line) <= 60 for line in more)

    @pytest.mark.parametrize("blank", ["\u2800", "\u3164", "\u1b44"])
    @pytest.mark.parametrize("before", ["when x", "e.g. "])
    def test_nor_where_long_words_stay_whole(self, before: str, blank: str) -> None:
        """Errors, hooks and findings keep an address whole. A word that contains whitespace does not count as one."""
        lines = texts(flow([(f"{before}{blank * 54}allowed{blank}by{blank}you", None)], 60, 4))
        assert len(lines) > 1
        assert all(columns(line) <= 60 for line in lines)
        assert all(line.startswith("    ") for line in lines[1:])

    def test_marks_that_a_terminal_may_show_in_a_column_of_their_own_are_counted(self) -> None:
        """Balinese Adeg Adeg is a combining mark with a width: a hundred of them would otherwise count as zero columns."""
        assert columns("a" + "\u1b44" * 100) == 101
        assert columns("a" + "\u0301" * 100) == 1

    @pytest.mark.parametrize("hard", [True, False])
    def test_tabs_cannot_make_a_line_wider_than_it_counts(self, hard: bool) -> None:
        lines = texts(flow([("when x" + "\ty" * 60, None)], 60, 4, hard=hard))
        assert len(lines) > 1
        assert "\t" not in "".join(lines)

    @pytest.mark.parametrize(
        "text", ["x" + " " * 40_000, "日" * 40_000, "a  " * 20_000, "`" * 40_001, "\u0301 " * 20_000]
    )
    def test_the_time_grows_with_the_text_not_with_its_square(self, text: str) -> None:
        begun = time.process_time()
        assert flow([(text, None)], 20, 4, hard=True)
        assert time.process_time() - begun < 3


class TestCut:
    @given(st.text(alphabet="ab日\u0301", max_size=40), st.integers(1, 30))
    def test_it_fits_and_says_that_something_is_missing(self, text: str, width: int) -> None:
        shown = cut(text, width)
        assert columns(shown) <= width
        assert shown == text or shown.endswith("…")


class TestTable:
    def test_columns_are_aligned_by_what_a_terminal_shows(self) -> None:
        assert laid([["日本", "x"], ["abc", "y"]], [Column("A"), Column("B")], 40) == ["A     B", "日本  x", "abc   y"]

    def test_columns_that_may_be_shortened_are_shortened_first(self) -> None:
        rows = [["one", "SHA256:KUtkP9Efgt5f5bD4b4MXq1hA9TNSKCFQby4EK3nKUJ0"]]
        assert laid(rows, [Column("ITEM"), Column("SIGNER", least=16)], 30)[1] == "one   SHA256:KUtkP9Efgt5f5bD4…"

    def test_below_a_first_cell_of_its_own_a_column_is_cut_no_further_than_needed(self) -> None:
        rows = [[ITEM, "1.0.0", "SHA256:KUtkP9Efgt5f5bD4b4MXq1hA9TNSKCFQby4EK3nKUJ0"]]
        header = [Column("ITEM"), Column("VERSION"), Column("SIGNER", least=16)]
        assert laid(rows, header, 70)[-1] == "    1.0.0    SHA256:KUtkP9Efgt5f5bD4b4MXq1hA9TNSKCFQby4EK3nKUJ0"
        assert laid(rows, header, 60)[-1] == "    1.0.0    SHA256:KUtkP9Efgt5f5bD4b4MXq1hA9TNSKCFQby4EK3n…"

    def test_a_long_first_cell_gets_a_line_of_its_own(self) -> None:
        rows = [[ITEM, "1.0.0"], ["skill:acme/a", "2.0.0"], ["skill:acme/b", "3.0.0"]]
        header, first, below, second, _ = laid(rows, [Column("ITEM"), Column("VERSION")], 60)
        assert first == ITEM
        assert below.strip() == "1.0.0"
        assert header.index("VERSION") == below.index("1.0.0") == second.index("2.0.0")

    def test_a_first_cell_longer_than_the_terminal_continues_indented(self) -> None:
        rows = [["x" * 70 + "ok:", "1.0.0"], ["a", "2.0.0"], ["b", "3.0.0"]]
        shown = laid(rows, [Column("ITEM"), Column("VERSION")], 60)
        assert all(columns(line) <= 60 for line in shown)
        assert shown[2].startswith("    x")

    def test_where_room_is_short_all_rows_have_two_lines(self) -> None:
        rows = [[ITEM, "1.0.0", "installed"], [ITEM + "_2", "1.0.0", "installed"]]
        shown = laid(rows, [Column("ITEM"), Column("VERSION"), Column("SPACE")], 64)
        assert shown == [
            "ITEM",
            "    VERSION  SPACE",
            ITEM,
            "    1.0.0    installed",
            ITEM + "_2",
            "    1.0.0    installed",
        ]

    def test_prose_wraps_in_its_column_and_ends_after_its_last_line(self) -> None:
        rows = [["skill:acme/a", "word " * 60]]
        header, first, second = laid(rows, [Column("ITEM"), Column("DESCRIPTION", prose=True)], 70)
        begin = header.index("DESCRIPTION")
        assert first[begin:].startswith("word word")
        assert second[:begin].strip() == ""
        assert second.endswith("…")

    def test_spaces_in_prose_cannot_pose_as_columns(self) -> None:
        shown = laid([["a", "fine      1.0.0      verified"]], [Column("ITEM"), Column("DESCRIPTION", prose=True)], 60)
        assert shown[1] == "a     fine 1.0.0 verified"

    @given(st.lists(st.lists(WORDS, min_size=3, max_size=3), min_size=1, max_size=5), st.integers(40, 120))
    def test_no_line_is_too_wide_or_ends_in_spaces(self, rows: list[list[str]], width: int) -> None:
        for line in laid(rows, [Column("A"), Column("B", least=5), Column("C", prose=True)], width):
            assert columns(line) <= width
            assert line == line.rstrip(" ")
