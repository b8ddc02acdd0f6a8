"""Untrusted Markdown on a page (registry_server/pages/markdown.py): all of it is shown, and none of it is active."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import html

from registry_server.pages.escaped_text import marked, marked_within, parted, plain, shown
from registry_server.pages.highlighting import highlighted
from registry_server.pages.limits import PAGES
from registry_server.pages.markdown import plain_paragraph, render
from tests.scenes.effort import rest_thorough, tries

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
    *("table", "thead", "tbody", "tr", "th", "td", "a", "span", "i"),
}
ATTRIBUTES = {"href", "rel", "id", "class", "title", "start", "data-column", "aria-label"}
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
        made = str(render(text).html)
        tree: Any = html.fragment_fromstring(made, create_parent="div")
        for element in tree.iter():
            assert element.tag in ALLOWED
            assert set(element.attrib) <= ATTRIBUTES
        for link in tree.iter("a"):
            assert re.match(r"(https?://|mailto:|#text-)", link.get("href", "")), link.get("href")
            assert link.get("rel") == "nofollow noopener noreferrer" or link.get("class") == "anchor"

    def test_a_picture_is_described_and_never_loaded(self) -> None:
        made = str(render("![a cat](https://e.example/cat.png)").html)
        assert "<img" not in made
        assert "picture: a cat" in made
        assert "https://e.example/cat.png" in made

    def test_a_link_that_says_another_address_shows_its_own(self) -> None:
        made = str(render("[https://good.example](https://evil.example) <https://plain.example>").html)
        assert "(https://evil.example)" in made
        assert made.count("plain.example") == 2

    def test_headings_stand_below_the_pages_own_and_their_ids_are_of_the_text(self) -> None:
        made = str(render("# main\n# main\n###### deep\n# ÄÖ\n[jump](#main)").html)
        assert re.findall(r'<(h\d) id="([^"]*)"', made) == [
            ("h3", "text-main"),
            ("h3", "text-main-2"),
            ("h6", "text-deep"),
            ("h3", "text-part"),
        ]
        assert 'href="#text-main"' in made

    def test_a_link_to_an_attached_file_goes_to_its_page(self) -> None:
        found = render("[run](./scripts/run.sh) [no](scripts/no.sh) [up](../x)", {"scripts/run.sh": "/-/x"}.get)
        assert re.findall(r'href="([^"]*)"', str(found.html)) == ["/-/x"]


class TestWhole:
    """A text of any length is shown whole, in pieces that pages divide between them."""

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "text",
        rest_thorough(
            2,
            [
                "word " * 20_000,
                "```\n" + "x\n" * 20_000,
                "a\n\n" * 20_000,
                "---\n" + "k: v\n" * 9_000 + "---\n",
                "- a\n" * 20_000,
                "| a | b |\n|---|---|\n" + "| x | y |\n" * 6_000,
                "# Part\n\nSome *text*.\n\n" * 4_000,
                "*a* " * 30_000,
            ],
        ),
    )
    def test_every_word_is_on_some_page(self, text: str) -> None:
        found = render(text)
        assert all(len(chunk) <= PAGES.block_characters + 200 for chunk in found.chunks)
        assert len(found.chunks) > 2
        assert found.lost == ()
        words = re.sub("<[^>]*>", " ", str(found.html))
        for word in ("word", "x", "a", "v", "y", "Part", "text"):
            assert len(re.findall(rf"\b{word}\b", words)) >= len(re.findall(rf"\b{word}\b", text)), word

    def test_a_short_text_is_one_piece(self) -> None:
        assert len(render("# A\n\nShort.").chunks) == 1

    def test_a_fence_is_never_divided_at_a_heading_in_it(self) -> None:
        text = "intro\n\n```sh\n" + "# not a heading\n\necho\n" * 700 + "```\n\n# Heading\n"
        assert [heading.words for heading in render(text).headings] == ["Heading"]

    def test_headings_are_listed_with_the_piece_that_they_are_in(self) -> None:
        found = render("# One\n\n" + "word words\n\n" * 3_000 + "## Two\n")
        assert [(heading.level, heading.id, heading.words) for heading in found.headings] == [
            (1, "text-one", "One"),
            (2, "text-two", "Two"),
        ]
        for heading in found.headings:
            assert f'id="{heading.id}"' in found.chunks[heading.chunk]

    def test_a_link_beside_each_heading_leads_to_it(self) -> None:
        assert 'href="#text-one"' in str(render("# One\n").html)


class TestColours:
    def test_code_has_colours_and_keeps_its_text(self) -> None:
        made = str(render("```python\ndef f():  # say\n    return 'x'\n```\n").html)
        assert '<i class="k">def</i>' in made
        assert '<i class="c"># say</i>' in made
        assert "def f():  # say\n    return 'x'" in html.fragment_fromstring(made, create_parent="div").text_content()

    @pytest.mark.parametrize(
        "language", ["py", "sh", "json", "yaml", "html", "ts", "toml", "sql", "dockerfile", "none", ""]
    )
    def test_no_code_becomes_an_element(self, language: str) -> None:
        code = "<script>alert(1)</script> \u202e 'a\n\n\n# x\r\x00"
        written = str(highlighted(code, language))
        assert "<script" not in written
        assert "\u202e" not in written
        assert re.sub(r'<i class=".">|</i>', "", written) == str(marked(code))

    def test_long_code_has_them_too_and_a_long_line_has_none(self) -> None:
        assert str(highlighted("def f(): pass\n" * 2_000, "py")).count('<i class="k">def</i>') == 2_000
        made = str(highlighted("def f(): pass\ndef f(): " + "x" * 1_000 + "\ndef f(): pass\n", "py"))
        assert made.count('<i class="k">def</i>') == 2


class TestTables:
    def test_nothing_of_a_table_scrolls_sideways(self) -> None:
        made = str(render("| a | b |\n|---|---|\n| x | y |\n").html)
        assert made.startswith("<table>")
        assert "scroll" not in made
        assert "tabindex" not in made

    def test_cells_of_many_columns_say_which_column_they_are_in(self) -> None:
        header = " | ".join(f"c{n}" for n in range(9))
        text = f"| {header} |\n|{'---|' * 9}\n| {' | '.join('v' * 9)} |\n"
        made = str(render(text).html)
        assert '<table class="columns many">' in made
        assert '<td data-column="c8">' in made
        assert "data-column" not in str(render("| a |\n|---|\n| x |\n").html)

    def test_a_column_cannot_leave_its_attribute(self) -> None:
        made = str(render('| " onclick="x | <b> | c | d |\n|---|---|---|---|\n| 1 | 2 | 3 | 4 |\n').html)
        cells: Any = html.fragment_fromstring(made, create_parent="div").xpath("//td")
        assert [set(cell.attrib) for cell in cells] == [{"data-column"}] * 4


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
        found = render(f"before\n\n{text}\n\nafter" if not text.startswith("---") else text)
        words = html.fragment_fromstring(str(found.html), create_parent="div").text_content().lower()
        assert "unseen" in words
        assert "words" in words
        assert found.lost == ()

    def test_words_that_are_lost_are_named(self) -> None:
        assert render("| a | b |\n|---|---|\n| x | y | unseen words |\n").lost == ("unseen", "words")
        assert render("> " * 40 + "unseen").lost == ("unseen",)
        assert render("seen\n\n| a |\n|---|\n| x | seen |\n").lost == ("seen",)

    def test_ordinary_text_loses_nothing(self) -> None:
        text = "# A\n\nSome *text* with `code`, a [link](https://e.example/a?b=c#d) &amp; a\\_b.\n\n"
        text += "1. one\n2. two\n\n| a |\n|---|\n| b |\n"
        assert render(text).lost == ()


class TestTime:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "piece",
        rest_thorough(10, ["[", "*a ", "[a](", "<", "_a__", "|a", ">", "- ", "`x", "a\n|-\n", "![", "**a", "~~a", "&#1;", "[x]",
                           "<a ", "[a]: b\n", "![[[", "\u0301", "\u200b", "(", "\\", "0. "]),
    )  # fmt: skip
    def test_no_text_takes_long(self, piece: str) -> None:
        text = piece * (tries(100_000, 256_000) // len(piece))
        start = time.process_time()
        render(text)
        assert time.process_time() - start < 5


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
        rendered = str(render(f"a{character}b `c{character}`").html)
        assert character not in rendered
        assert f"U+{ord(character):04X}" in rendered or character == "\0"  # which Markdown replaces with U+FFFD
        made = str(marked(f"a{character}b"))
        assert character not in made
        assert f"U+{ord(character):04X}" in made
        assert name in made
        assert character not in plain(f"a{character}b", 10)
        assert character not in shown(f"a{character}b", 10)

    def test_marks_that_would_cover_other_lines_are_boxes(self) -> None:
        made = str(marked("q" + "\u0336" * 9 + "s"))
        assert made.count("\u0336") == 4
        assert made.count('class="hidden"') == 5
        assert str(marked("q\u0323\u0307")) == "q\u0323\u0307"

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
        assert written is None or written == str(render(text).html)

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
    assert render("| a |\n|---|\n| b | Unseen |\n").lost == ("unseen",)
    assert render("| a |\n|---|\n| b | Ünseen |\n").lost == ("ünseen",)
