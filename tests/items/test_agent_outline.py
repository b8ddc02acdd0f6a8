"""Headings, breaks and lists outside fences, comments, quotes and lists (DECISIONS Agents 6, 12)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.text.markdown_links import links, without_code_spans
from rye.text.markdown_outline import outline
from tests.scenes.effort import tries

EXAMPLES = tries(60, 2000)


def _headings(text: str) -> list[str]:
    return [f"{'#' * h.level} {h.text}" for h in outline(text).headings]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n## B ##\n   ### C\n", ["# A", "## B", "### C"]),
        ("    # code\n", []),
        ("#no\n####### seven\n", []),
        ("#\n", ["# "]),
        ("```\n# in\n```\n# out", ["# out"]),
        ("~~~ md\n# in\n```\n~~~\n# out", ["# out"]),
        ("````\n```\n# in\n````\n# out", ["# out"]),
        ("```\n# open to the end", []),
        ("<!-- a\n# in\n-->\n# out", ["# out"]),
        ("<!-- open\n# in", []),
        ("   <!--\n# in\n-->\n# out", ["# out"]),
        ("    <!--\n# not a comment, code", ["# not a comment, code"]),
        ("text <!--\n# a heading interrupts the paragraph\n", ["# a heading interrupts the paragraph"]),
        ("<!-- a --> # same line\n# out", ["# out"]),
        ("> # quoted\n", []),
        ("- # item\n\n  # inside\n\n# out", ["# out"]),
        ("- ```\n  # in\n  ```\n# out", ["# out"]),
        ("Setext\n======\n\nTwo\n---\n", []),
        ("<div>\n# html blocks are no shelter\n</div>", ["# html blocks are no shelter"]),
        ("[a]: b\n# out", ["# out"]),
    ],
)
def test_headings(text: str, expected: list[str]) -> None:
    assert _headings(text) == expected


def test_thematic_breaks_setext_underlines_and_lists() -> None:
    scan = outline("a\n---\n\n---\n\n***\n\n- x\n  y\n- ---\n- z\n\n  w\n")
    assert scan.breaks == (3, 5, 9)
    assert [item.text for item in scan.items] == ["x\ny", "z"]


def test_containers_nested_beyond_the_limit_are_told() -> None:
    assert outline("- " * 5 + "x").too_deep is None
    assert outline("- " * 50 + "x\n\n# after").too_deep == 0
    assert outline("\n\n" + "> " * 50 + "x").too_deep == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "- " * 100_000,
        "> " * 100_000,
        "- a\n" * 50_000,
        "<!--\n" * 50_000,
        "> " * 30 + "a\n" + "a\n" * 100_000,
        "`" * 200_000,
        "```\n" * 60_000,
        "a\n=\n" * 40_000,
        "#" * 200_000,
    ],
)  # fmt: skip
def test_hostile_markdown_takes_bounded_time(text: str) -> None:
    started = time.thread_time()
    outline(text)
    assert time.thread_time() - started < 3


def test_links_are_found_outside_code() -> None:
    scan = outline(
        "See [a](x/a.md) and ![i](<img one.png>) `[no](code.md)`\n\n```\n[no](fence.md)\n```\n\n[ref]: ref.md\n"
        '<a href="html.md">t</a> [w](https://e.org/x) [h](#top) [m](mailto:a@b) [p](a(b).md "title")\n'
    )
    found = links(scan)
    assert [link.path for link in found if link.relative] == ["x/a.md", "img one.png", "ref.md", "a(b).md", "html.md"]
    assert [link.line for link in found][:2] == [0, 0]


def test_link_paths_lose_anchor_query_and_percent_escapes() -> None:
    (link,) = links(outline("[a](./b%20c.md?x=1#y)"))
    assert link.path == "b c.md"


@pytest.mark.slow
@pytest.mark.parametrize("text", ["](" * 100_000, "[" * 200_000, "](<" * 60_000, "` " * 100_000, "<a " * 60_000])
def test_hostile_links_take_bounded_time(text: str) -> None:
    started = time.thread_time()
    links(outline(text))
    assert time.thread_time() - started < 3


@given(st.text(alphabet="`ab[]()", max_size=60))
@settings(max_examples=EXAMPLES)
def test_blanking_code_spans_keeps_the_length(line: str) -> None:
    assert len(without_code_spans(line)) == len(line)


_PIECES = [
    "# a", "## b ##", "-", "- ", "1. ", "2. ", "> ", ">", "```", "~~~", "---", "***", "===", "x", "y z",
    "    ", "  ", "\t", "\n", "\n\n", "- x\n", "+ ", "#", "* ",
]  # fmt: skip


@given(st.lists(st.sampled_from(_PIECES), max_size=14).map("".join))
@settings(max_examples=EXAMPLES * 3, deadline=None)
def test_headings_and_breaks_are_those_of_another_commonmark_parser(text: str) -> None:
    from markdown_it import MarkdownIt

    other = MarkdownIt("commonmark", {"maxNesting": 100}).disable(["html_block", "reference", "entity"])
    tokens = other.parse(text)
    headings = [
        (len(t.markup), t.map[0])
        for t in tokens
        if t.type == "heading_open" and t.level == 0 and "#" in t.markup and t.map
    ]
    scan = outline(text)
    assert [(h.level, h.line) for h in scan.headings] == headings
    assert list(scan.breaks) == [t.map[0] for t in tokens if t.type == "hr" and t.level == 0 and t.map]


@given(st.text(alphabet="#-*>`~<! \n\tab1.=_[]()", max_size=120))
@settings(max_examples=EXAMPLES, deadline=None)
def test_no_text_crashes_the_scanner(text: str) -> None:
    scan = outline(text)
    assert all(scan.lines[h.line].lstrip(" ").startswith("#") for h in scan.headings)
    links(scan)
