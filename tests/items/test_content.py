"""Which text an item may contain: DESIGN §5 Content, DECISIONS Directives 13 and "Every kind"."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.limits import CONTENT, ContentLimits
from rye.text import content
from rye.text.content import DEFAULT_IGNORABLE, MAX_LISTED, check_text, decode, describe, fixed
from tests.scenes.effort import tries

pytestmark = pytest.mark.processes

EXAMPLES = tries(300, 20_000)
IGNORABLE = [point for first, last in DEFAULT_IGNORABLE for point in range(first, last + 1)]


def codes(data: bytes) -> list[str]:
    return [diagnostic.code for diagnostic in decode(data).diagnostics]


class TestDecoding:
    def test_plain_ascii_is_handed_on_as_it_is(self) -> None:
        decoded = decode(b"# Title\n\n\ttext\n")
        assert (decoded.text, decoded.diagnostics, decoded.ok) == ("# Title\n\n\ttext\n", (), True)

    def test_other_scripts_and_symbols_are_ordinary_text(self) -> None:
        text = "Übung — 日本語 עברית عربى हिन्दी → “quotes”\n"
        assert decode(text.encode()).diagnostics == ()

    def test_a_file_over_the_limit_is_refused_before_anything_else_is_looked_at(self) -> None:
        decoded = decode(b"\xff" * 11, ContentLimits(item_bytes=10))
        assert decoded.text is None
        assert [d.code for d in decoded.diagnostics] == ["C01"]
        assert decode(b"x" * 10, ContentLimits(item_bytes=10)).ok

    def test_bytes_that_are_not_utf8_are_named_by_offset_line_and_column(self) -> None:
        decoded = decode("one\nzwö".encode() + b"\xfc\n")
        (finding,) = decoded.diagnostics
        assert decoded.text is None
        assert (finding.code, finding.line, finding.column) == ("C02", 2, 4)
        assert "0xFC at offset 8" in finding.message

    @pytest.mark.parametrize("data", [b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"])
    def test_surrogates_overlong_forms_and_cut_sequences_are_not_utf8(self, data: bytes) -> None:
        assert codes(data) == ["C02"]

    def test_utf16_is_recognized_in_the_hint(self) -> None:
        (finding,) = decode("hello".encode("utf-16")).diagnostics
        assert "UTF-16" in (finding.hint or "")


class TestLineEndingsAndByteOrderMark:
    """DECISIONS "Every kind" 1: accepted when validating, refused when signing, fixed by ``rye validate --fix``."""

    def test_crlf_is_read_as_lf_with_a_notice_that_names_the_mending_command(self) -> None:
        decoded = decode(b"a\r\nb\r\n")
        assert (decoded.text, decoded.had_crlf, decoded.had_bom, decoded.ok) == ("a\nb\n", True, False, True)
        (finding,) = decoded.diagnostics
        assert (finding.severity, finding.code) == ("notice", "C10")
        assert "rye validate --fix" in (finding.hint or "")

    def test_one_bom_is_dropped_with_a_notice_and_a_second_one_is_a_hidden_character(self) -> None:
        decoded = decode(b"\xef\xbb\xbfabc\n")
        assert (decoded.text, decoded.had_bom, decoded.ok) == ("abc\n", True, True)
        assert codes(b"\xef\xbb\xbf\xef\xbb\xbfabc\n") == ["C09", "C06"]

    @pytest.mark.parametrize("data", [b"a\rb\n", b"a\r\r\n", b"a\r"])
    def test_a_lone_cr_is_a_control_character(self, data: bytes) -> None:
        assert "C04" in codes(data)

    def test_fixing_gives_bytes_without_either(self) -> None:
        assert fixed(b"\xef\xbb\xbfa\r\nb\rc\n") == b"a\nb\rc\n"
        assert codes(fixed(b"\xef\xbb\xbfa\r\nb\n")) == []


class TestCharactersThatAreRefused:
    @pytest.mark.parametrize("point", [p for p in (*range(0x20), *range(0x7F, 0xA0)) if p not in (0x09, 0x0A)])
    def test_every_control_but_tab_and_lf(self, point: int) -> None:
        assert codes(f"a{chr(point)}b".encode()) == ["C03" if point == 0 else "C04"]

    @pytest.mark.parametrize("point", [0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])
    def test_every_bidirectional_control(self, point: int) -> None:
        assert codes(f"a{chr(point)}b".encode()) == ["C05"]

    def test_every_default_ignorable_code_point(self) -> None:
        """All 4,174 of them (Unicode 16), assigned or not; bidi controls, ZWJ and VS16 have separate codes."""
        assert len(IGNORABLE) == 4174
        for point in IGNORABLE:
            assert codes(f"a{chr(point)}b".encode())[0] in ("C05", "C06", "C07"), hex(point)

    def test_the_ranges_are_those_of_the_unicode_database(self) -> None:
        regex = pytest.importorskip("regex")
        everything = "".join(chr(p) for p in range(0x110000) if not 0xD800 <= p < 0xE000)
        listed = regex.findall(r"\p{Default_Ignorable_Code_Point}", everything)
        assert [ord(character) for character in listed] == IGNORABLE

    def test_neighbours_of_the_ranges_are_ordinary(self) -> None:
        for first, last in DEFAULT_IGNORABLE:
            for point in {first - 1, last + 1} - set(IGNORABLE):
                if unicodedata.category(chr(point)) not in ("Cc", "Zl"):
                    assert not {"C05", "C06", "C07"} & set(codes(f"a{chr(point)}b".encode())), hex(point)

    def test_a_message_names_code_point_name_line_and_column(self) -> None:
        (finding,) = decode("# Title\n\nabc\u200bdef\n".encode()).diagnostics
        assert (finding.line, finding.column) == (3, 4)
        assert "U+200B ZERO WIDTH SPACE" in finding.message
        assert "column 4" in finding.message

    def test_names_of_characters_that_the_database_does_not_name(self) -> None:
        assert describe("\x1b") == "U+001B ESCAPE"
        assert describe("\x01") == "U+0001 CONTROL"
        assert describe("\u2065") == "U+2065 DEFAULT IGNORABLE CODE POINT"
        assert describe("\U000e0041") == "U+E0041 TAG LATIN CAPITAL LETTER A"

    def test_several_on_one_line_and_on_later_lines_have_their_own_places(self) -> None:
        found = decode("\u200b\u200b\nx\u202e\n\n\ty\u00ad".encode()).diagnostics
        assert [(d.line, d.column) for d in found] == [(1, 1), (1, 2), (2, 2), (4, 3)]

    def test_a_flood_is_counted_not_listed(self) -> None:
        found = decode(("\u200b" * 5000).encode()).diagnostics
        assert len(found) == MAX_LISTED + 1
        assert found[-1].code == "C12"
        assert f"{5000 - MAX_LISTED:,}" in found[-1].message

    def test_line_and_paragraph_separators_are_errors(self) -> None:
        """A program that ends a line there reads a different text from one that does not (DESIGN §5 Content)."""
        decoded = decode(("a\u2028b\u2029" * 30).encode())
        assert {(d.severity, d.code) for d in decoded.diagnostics} == {("error", "C11"), ("error", "C12")}
        assert not decoded.ok


class TestEmoji:
    @pytest.mark.parametrize(
        "text",
        [
            "👍",
            "👩🏽‍❤️‍💋‍👨🏽",
            "🏳️‍🌈",
            "❤️",
            "☝🏽",
            "⚠️ warning",
            "1️⃣ #️⃣ *️⃣",
            "👨‍👩‍👧‍👦",
            "🧑🏿‍🚀",
            "❤️‍🔥",
            "🇩🇪",
            "ℹ️",
            "™️",
            "🐻‍❄️",
        ],
    )
    def test_joiner_and_variation_selector_are_allowed_in_emoji(self, text: str) -> None:
        assert decode(f"{text}\n".encode()).diagnostics == ()

    @pytest.mark.parametrize(
        "text",
        [
            "a\u200db",  # between letters
            "👩\u200d",  # nothing to join
            "\u200d👩",
            "👩\u200d\u200d👩",
            "👩 \u200d👩",
            "a\ufe0f",
            "👍\ufe0f\ufe0f",  # a run of selectors carries hidden bytes
            "👍🏽\ufe0f",
            "\ufe0f",
            "1\ufe0f",  # a digit only as a keycap
            "क\u200dष",
        ],
    )
    def test_elsewhere_they_are_refused(self, text: str) -> None:
        assert "C07" in codes(text.encode())

    def test_other_selectors_and_tag_characters_are_refused_even_in_emoji(self) -> None:
        assert codes("❤\ufe0e".encode()) == ["C06"]
        assert set(codes("🏴\U000e0067\U000e0062\U000e007f".encode())) == {"C06"}

    def test_pictographs_of_the_basic_plane_are_those_of_the_unicode_database(self) -> None:
        regex = pytest.importorskip("regex")
        ours = re.compile(content._PICTOGRAPH)
        for point in (p for p in range(0x10000) if not 0xD800 <= p < 0xE000):
            theirs = regex.match(r"\p{Extended_Pictographic}", chr(point)) is not None
            assert (ours.match(chr(point)) is not None) == theirs, hex(point)

    def test_every_emoji_above_the_basic_plane_is_a_pictograph(self) -> None:
        regex = pytest.importorskip("regex")
        ours = re.compile(content._PICTOGRAPH)
        for point in range(0x10000, 0x20000):
            if regex.match(r"[\p{Emoji}&&\p{Extended_Pictographic}]", chr(point), flags=regex.V1):
                assert ours.match(chr(point)), hex(point)


class TestNormalization:
    def test_decomposed_text_is_refused_at_its_place(self) -> None:
        (finding,) = decode("ok\ncaf\u0065\u0301\n".encode()).diagnostics
        assert (finding.code, finding.line, finding.column) == ("C08", 2, 4)

    def test_singletons_are_refused(self) -> None:
        assert codes("\u212b".encode()) == ["C08"]  # the Angstrom sign normalizes to a letter

    def test_a_pile_of_marks_is_refused_at_once(self) -> None:
        start = time.thread_time()
        (finding,) = decode(("ok\ne" + "\u0301\u0316" * 60_000).encode()).diagnostics
        assert (finding.code, finding.line, finding.column) == ("C13", 2, 2)
        assert time.thread_time() - start < 1
        assert codes(("x" + "\u0316" * 30).encode()) == []
        assert codes(("x" + "\u0316" * 31).encode()) == ["C13"]


def test_an_exemption_lets_characters_through_only_inside_its_matches() -> None:
    """Overrides escape their closer with U+200B (DECISIONS Overrides 4)."""
    escape = re.compile("DIRECTIVE\u200b -->")
    assert check_text("x DIRECTIVE\u200b --> y", escape) == ()
    assert [d.column for d in check_text("\u200bDIRECTIVE\u200b -->", escape)] == [1]
    assert [d.code for d in check_text("DIRECTIVE\u200b -->")] == ["C06"]


@pytest.mark.parametrize(
    "data",
    [
        b"x" * (10 * 1024 * 1024),
        ("\u200b" * 87_000).encode(),
        ("👩\u200d" * 37_000).encode(),
        ("e\u0301\n" * 65_000).encode(),
        b"\r\n" * 131_000,
        "\u202e\n".encode() * 65_000,
        ("日" * 87_000).encode(),
    ],
    ids=["10 MB", "hidden", "joiners", "decomposed", "crlf", "bidi", "one long line"],
)
def test_hostile_files_are_judged_quickly(data: bytes) -> None:
    start = time.thread_time()
    decode(data)
    assert time.thread_time() - start < 1


@settings(max_examples=EXAMPLES)
@given(st.binary(max_size=64))
def test_any_bytes_give_text_or_a_reason(data: bytes) -> None:
    decoded = decode(data)
    assert (decoded.text is None) == any(d.code in ("C01", "C02") for d in decoded.diagnostics)
    if decoded.text is not None and decoded.ok:
        assert unicodedata.is_normalized("NFC", decoded.text)
        assert not any(c in decoded.text for c in "\r\0\x1b")
        assert decode(decoded.text.encode()).text == decoded.text


@settings(max_examples=EXAMPLES)
@given(st.text(st.sampled_from("a1\n\r\u200d\ufe0f\u20e3❤👍🏽\u200b\ufeff"), max_size=12))
def test_fixing_takes_away_the_notices_and_nothing_else_changes(text: str) -> None:
    before, after = decode(text.encode()), decode(fixed(text.encode()))
    if "\r\r\n" not in text and not text.startswith("\ufeff\ufeff"):
        assert after.text == before.text
        assert [d for d in before.diagnostics if d.severity != "notice"] == list(after.diagnostics)


def test_places_count_lines_and_columns_as_an_editor_does() -> None:
    text = "".join(f"{'ä' * n}\u200b\n" for n in range(10))
    assert [(d.line, d.column) for d in check_text(text)] == [(n + 1, n + 1) for n in range(10)]


def test_the_module_needs_nothing_heavy() -> None:
    code = (
        "import sys, rye.text.content; print([m for m in ('nacl','cryptography','lxml','regex') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_default_limit_is_256_kib() -> None:
    assert CONTENT.item_bytes == 256 * 1024
