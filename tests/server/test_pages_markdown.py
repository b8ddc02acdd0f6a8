"""Untrusted Markdown on a page (registry_server/pages/markdown.py): all of it is shown, and none of it is active."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import html

from registry_server.pages.escaped_text import marked, marked_within, parted, plain, shown
from registry_server.pages.limits import PAGES
from registry_server.pages.markdown import plain_paragraph, render
from tests.scenes.effort import tries

ALLOWED = {
    *(
        "div",
        "p",
        "h3",
        "h4",
        "h5",
        "h6",
        "ul",
        "ol",
        "li",
        "em",
        "strong",
        "s",
        "code",
        "pre",
        "blockquote",
        "hr",
        "br",
    ),
    *("table", "thead", "tbody", "tr", "th", "td", "a", "span"),
}
ATTRIBUTES = {"href", "rel", "id", "class", "title", "tabindex", "start"}
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><image href='https://evil.example/x'/></svg>",
    "<!-- <b>unseen</b> --><style>*{display:none}</style>",
    "[x](javascript:alert(1)) [x](JaVaScRiPt:alert(1)) [x](data:text/html,y) [x](vbscript:z) <javascript:alert(1)>",
    "[x](java&#115;cript:alert(1)) [x](&#x6A;avascript:alert(1)) [x](javascript&colon;alert(1))",
    '[x](https://e.example "\\" onmouseover=\\"alert(1)") ![x" onerror="y](https://e.example/p.png)',
    '[a"><script>]: https://e.example\n\n[a"><script>]',
    '```"><script>alert(1)</script>\n</code></pre><script>\n',
    '# <script>x</script> " onclick="\n## a\n## a\n',
    "| <script> | b |\n|---|---|\n| <img src=x onerror=1> | `</td><script>` |\n",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;script&#62;",
    "---\n<script>: 1\n---\n# x",
    "```never closed\n</code></pre><script>",
    '<https://e.example/"onmouseover=alert(1)>',
    "\x00\x1b[31m\ud800",
]


class TestNothingHappens:
    @pytest.mark.parametrize("text", HOSTILE)
    def test_only_plain_elements_and_harmless_attributes_come_out(self, text: str) -> None:
        made = str(render(text, 50_000).html)
        tree = html.fragment_fromstring(made, create_parent="div")
        for element in tree.iter():
            assert element.tag in ALLOWED
            assert set(element.attrib) <= ATTRIBUTES
        for link in tree.iter("a"):
            assert re.match(r"(https?://|mailto:|#text-)", link.get("href", "")), link.get("href")
            assert link.get("rel") == "nofollow noopener noreferrer"

    def test_a_picture_is_described_and_never_loaded(self) -> None:
        made = str(render("![a cat](https://e.example/cat.png)", 5_000).html)
        assert "<img" not in made
        assert "picture: a cat" in made
        assert "https://e.example/cat.png" in made

    def test_a_link_that_says_another_address_shows_its_own(self) -> None:
        made = str(render("[https://good.example](https://evil.example) <https://plain.example>", 5_000).html)
        assert "(https://evil.example)" in made
        assert made.count("plain.example") == 2

    def test_headings_stand_below_the_pages_own_and_their_ids_are_of_the_text(self) -> None:
        made = str(render("# main\n# main\n###### deep\n# ÄÖ\n[jump](#main)", 5_000).html)
        assert re.findall(r'<(h\d) id="([^"]*)"', made) == [
            ("h3", "text-main"),
            ("h3", "text-main-2"),
            ("h6", "text-deep"),
            ("h3", "text-part"),
        ]
        assert 'href="#text-main"' in made

    def test_a_link_to_an_attached_file_goes_to_its_page(self) -> None:
        found = render("[run](./scripts/run.sh) [no](scripts/no.sh) [up](../x)", 5_000, {"scripts/run.sh": "/-/x"}.get)
        assert re.findall(r'href="([^"]*)"', str(found.html)) == ["/-/x"]


class TestNothingIsSwallowed:
    @pytest.mark.parametrize(
        "text",
        [
            "<!-- unseen words -->",
            '[link](https://e.example "unseen words")',
            "[unseen]: https://e.example 'words'",
            "[//]: # (unseen words)",
            "```sh unseen words\nx\n```",
            "---\nunseen: words\n---\ntext",
            "<details hidden>unseen words</details>",
            "![unseen words](https://e.example/x.png)",
        ],
    )
    def test_what_other_renderers_hide_is_shown(self, text: str) -> None:
        found = render(f"before\n\n{text}\n\nafter" if not text.startswith("---") else text, 5_000)
        words = html.fragment_fromstring(str(found.html), create_parent="div").text_content().lower()
        assert "unseen" in words
        assert "words" in words
        assert found.lost == ()

    def test_words_that_are_lost_are_named(self) -> None:
        assert render("| a | b |\n|---|---|\n| x | y | unseen words |\n", 5_000).lost == ("unseen", "words")
        assert render("> " * 40 + "unseen", 5_000).lost == ("unseen",)
        assert render("seen\n\n| a |\n|---|\n| x | seen |\n", 5_000).lost == ("seen",)

    def test_ordinary_text_loses_nothing(self) -> None:
        text = "# A\n\nSome *text* with `code`, a [link](https://e.example/a?b=c#d) &amp; a\\_b.\n\n"
        text += "1. one\n2. two\n\n| a |\n|---|\n| b |\n"
        assert render(text, 5_000).lost == ()

    @pytest.mark.slow
    def test_a_cut_says_so_and_shows_a_beginning(self) -> None:
        for text in (
            "word " * 6_000,
            "```\n" + "x\n" * 20_000,
            "a\n\n" * 9_000,
            "---\n" + "k: v\n" * 9_000,
            "- a\n" * 9_000,
        ):
            found = render(text, 3_000)
            assert found.is_cut
            assert 1_000 < len(found.html) < 3_200
        assert not render("short", 3_000).is_cut


class TestTime:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "piece",
        ["[", "*a ", "![", "**a", "[a](", "<", "_a__", "|a", ">", "- ", "~~a", "`x", "&#1;", "[x]", "<a ", "[a]: b\n", "a\n|-\n",
         "![[[", "\u0301", "\u200b", "(", "\\", "0. "],
    )  # fmt: skip
    def test_no_text_takes_long(self, piece: str) -> None:
        text = piece * (tries(100_000, 10_000_000) // len(piece))
        start = time.process_time()
        found = render(text, PAGES.text_characters)
        assert time.process_time() - start < 5
        assert len(found.html) < PAGES.text_characters + 200


class TestHiddenCharacters:
    @pytest.mark.parametrize(
        ("character", "name"),
        [
            ("\u202e", "RIGHT-TO-LEFT OVERRIDE"),
            ("\u200b", "ZERO WIDTH SPACE"),
            ("\u2028", "LINE SEPARATOR"),
            ("\U000e0041", "TAG LATIN CAPITAL LETTER A"),
            ("\u00ad", "SOFT HYPHEN"),
            ("\x1b", "ESCAPE"),
            ("\u3164", "HANGUL FILLER"),
            ("\x00", "NULL"),
        ],
    )
    def test_each_is_a_box_with_its_name_and_never_itself(self, character: str, name: str) -> None:
        rendered = str(render(f"a{character}b `c{character}`", 5_000).html)
        assert character not in rendered
        assert f"U+{ord(character):04X}" in rendered or character == "\0"  # which Markdown replaces with U+FFFD
        made = str(marked(f"a{character}b"))
        assert character not in made
        assert f"U+{ord(character):04X}" in made
        assert name in made
        assert character not in plain(f"a{character}b", 10)
        assert character not in shown(f"a{character}b", 10)

    def test_an_emoji_stays_one(self) -> None:
        assert str(marked("👩‍💻 ❤️")) == "👩‍💻 ❤️"

    def test_text_is_cut_by_the_size_of_its_html(self) -> None:
        assert marked_within("<" * 100, 41) == ("&lt;" * 10, 10)
        cut, taken = marked_within("\u200b" * 1_000, 1_000)
        assert len(cut) <= 1_000
        assert 5 < taken < 30
        assert marked_within("abc", 100) == ("abc", 3)

    def test_a_word_for_an_attribute_is_one_line_without_marks(self) -> None:
        assert plain('a\n"b"\u202ec', 100) == 'a "b"[U+202E]c'
        assert plain("x" * 10, 4) == "xxxx…"


@pytest.mark.parametrize(
    "text",
    ["rye/workflows/deploy_and_test", "rye.execute.tool.*", "a/<b>/\u202e", "/" * 400, "a.b\tc\n/d" * 60, "", "plain"],
)
def test_an_id_that_may_be_broken_says_the_same_and_is_copied_whole(text: str) -> None:
    written = str(parted(text, 300))
    assert written.replace("<wbr>", "") == str(shown(text, 300))
    assert len(written) <= len(shown(text, 300)) + 60
    assert ("<wbr>" in written) == (text.startswith(("rye", "a/")))


_WORDS = "Read a step x1 1. 10) - + = -- === # / a/b (so) 'it' \"said\" http://a.example a@b.example 50% why? @ : ; , ."
_MARKS = "&amp; & * _ ` ~~ \\ | <b> [a] ! > é \u200b"
_PIECES = st.sampled_from([*_WORDS.split(), *_MARKS.split(), " ", "  ", "\n", "\n\n", "\t", "\r"])


class TestPlainParagraphs:
    @given(st.lists(_PIECES, min_size=1, max_size=12).map("".join))
    @example("Read what is there,\nand write it down.")
    @example("a\n===")
    @example("a |b\n--|--")
    @example("a  \nb")
    def test_what_is_written_without_the_parser_is_what_it_would_write(self, text: str) -> None:
        written = plain_paragraph(text)
        assert written is None or written == str(render(text, 10_000).html)

    def test_a_plain_text_needs_no_parser_and_any_mark_does(self) -> None:
        assert plain_paragraph('Read it (all of it), then: "write".\nTwice.') == (
            "<p>Read it (all of it), then: &quot;write&quot;.\nTwice.</p>"
        )
        for text in (
            "",
            "1. a",
            "- a",
            "# a",
            "a *b*",
            "a `b`",
            "a <b>",
            "a [b]",
            "a\\b",
            "a &amp; b",
            "a\n\nb",
            "a ",
            " a",
            "é",
        ):
            assert plain_paragraph(text) is None, text

    def test_a_long_text_is_decided_in_one_pass(self) -> None:
        for text in ("a " * 200_000 + "*", "a\n" * 200_000 + "*", "a" * 400_000 + "`"):
            started = time.process_time()
            assert plain_paragraph(text) is None
            assert time.process_time() - started < 2


def test_lost_words_are_found_whatever_their_letters() -> None:
    assert render("| a |\n|---|\n| b | Unseen |\n", 10_000).lost == ("unseen",)
    assert render("| a |\n|---|\n| b | Ünseen |\n", 10_000).lost == ("ünseen",)
