"""Which fence is the directive's (DECISIONS Directives 1), and fences exactly as CommonMark reads them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rye.items.directive.xml_tree import parse
from rye.text.markdown_blocks import MAX_DEPTH, scan
from tests.items.test_directive_sample import AFTER, FENCE, findings, only, reading, text, value
from tests.scenes.effort import FUZZ, tries
from tests.scenes.parsed import parsed

_ORACLE = MarkdownIt("commonmark", {"maxNesting": 200})
_ORACLE.core.ruler.enableOnly(["normalize", "block"])

_PIECES = [
    *(
        "```",
        "```",
        "````",
        "~~~",
        "```xml",
        "~~~ XML",
        "\n",
        "\n",
        "\n",
        "\n",
        "> ",
        ">",
        "- ",
        "-  ",
        "* ",
        "+ ",
        "1. ",
    ),
    *(
        "2) ",
        "10. ",
        " ",
        "  ",
        "    ",
        "\t",
        "a",
        "b c",
        "#",
        "# h",
        "===",
        "---",
        "***",
        "<div>",
        "<a>",
        "</a>",
        "<!--",
    ),
    *("<process>", "-->", "<?", "?>", "<!X", "<![CDATA[", "]]>", "<pre>", "</pre>", "`", "<a b='c'>", "123456789. "),
]


@given(st.lists(st.sampled_from(_PIECES), max_size=40).map("".join))
@settings(max_examples=20_000 if FUZZ else 400, deadline=None)
def test_fences_are_commonmark_s(content: str) -> None:
    """Property: an independent CommonMark parser finds the same fences, at the same lines, with the same content."""
    expected = [
        (token.info.strip(), (token.map or [0])[0] + 1, token.content.rstrip("\n \t"))
        for token in _ORACLE.parse(content)
        if token.type == "fence"
    ]
    assert [(fence.info, fence.line, fence.text.rstrip("\n \t")) for fence in scan(content).fences] == expected


@given(st.lists(st.sampled_from(_PIECES), max_size=40).map("".join))
@settings(max_examples=5_000 if FUZZ else 200, deadline=None)
def test_places_in_a_fence_are_places_in_the_file(content: str) -> None:
    """Property: a content line ends its line of the file, and ``offsets`` is where it starts there."""
    lines = content.split("\n")
    for fence in scan(content).fences:
        for number, (line, offset) in enumerate(
            zip(fence.lines, fence.offsets or [0] * len(fence.lines), strict=True), fence.line + 1
        ):
            assert lines[number - 1].endswith(line.lstrip(" "))
            assert "\t" in lines[number - 1] or lines[number - 1][offset:] == line


@pytest.mark.parametrize(
    ("opener", "closer", "prefix"),
    [
        ("```xml", "```", ""),
        ("``` xml", "```", ""),
        ("```XML", "```", ""),
        ("```Xml title=x", "`````", ""),
        ("`````xml", "`````", ""),
        ("~~~xml", "~~~", ""),
        ("~~~ xml `tick`", "~~~~", ""),
        ("   ```xml", " ```", ""),
        ("> ```xml", "> ```", "> "),
        ("- ```xml", "  ```", "  "),
        ("1. > ```xml", "   > ```", "   > "),
        ("```&#120;ml", "```", ""),
        ("```\\xml".replace("\\x", "&#x78;"), "```", ""),
    ],
)
def test_the_directive_s_fence_in_every_form(opener: str, closer: str, prefix: str) -> None:
    body = "\n".join(prefix + line for line in FENCE.split("\n"))
    result = reading(f"# T\n\n{opener}\n{body}\n{closer}\n\n{AFTER}")
    assert result.diagnostics == ()
    assert (parsed(result).line, parsed(result).permissions[0].line) == (4, 12)
    assert parsed(result).permissions[0].column == 16 + len(prefix)


@pytest.mark.parametrize(
    "block",
    [
        f"````markdown\n```xml\n{FENCE}\n```\n````",
        f"~~~\n```xml\n{FENCE}\n```\n~~~",
        "".join(f"    {line}\n" for line in f"```xml\n{FENCE}\n```".split("\n")),
        f"<!--\n```xml\n{FENCE}\n```\n-->",
        f"```text\n{FENCE}\n```",
        f"```\n{FENCE}\n```",
        f"```xmlish\n{FENCE}\n```",
        "a ```xml b",
        "```xml`<directive>`",
    ],
    ids=range(9),
)
def test_what_looks_like_a_fence_and_is_none_changes_nothing(block: str) -> None:
    before = text(before=f"# T\n\n{block}\n\n")
    assert findings(before) == []
    after = text(after=f"{AFTER}\n{block}\n")
    assert findings(after) == []
    assert value(after).permissions == value(text()).permissions


def test_no_fence_is_an_error_that_points_at_an_unlabelled_one() -> None:
    assert findings("# T\n") == [("error", "D001")]
    assert only(f"# T\n\n```\n{FENCE}\n```\n", "D001").line == 3
    assert reading("# T\n").value is None


@pytest.mark.parametrize("root", ["<foo/>", "<Directive/>", "text <directive/>", "", "<!-- x -->", "<directives/>"])
def test_a_first_xml_fence_with_another_root_is_an_error(root: str) -> None:
    content = text(before=f"# T\n\n```xml\n{root}\n```\n\n")
    assert [found.code for found in reading(content).diagnostics] == ["D002"]
    assert only(content, "D002").line == 3
    assert reading(content).value is None


@pytest.mark.parametrize(
    "decoy",
    [
        "```xml\n<directive/>\n```",
        "~~~ XML\n<directive>\n~~~",
        "> ```xml\n> <directive>\n> ```",
        "- a\n\n  ```xml\n  <directive>\n  ```",
        "```xml\n<!-- c --><directive/>\n```",
        '```xml\n<?xml version="1.0"?><directive/>\n```',
        "```xml\n<!DOCTYPE x [<!ENTITY a 'b'>]><directive/>\n```",
        "```xml\n\n\n  <x:directive/>\n```",
        "```xml\n<directive name='never closed'",
        "```&#120;ml\n<directive/>\n```",
    ],
)
def test_a_second_directive_is_an_error_and_nothing_is_granted(decoy: str) -> None:
    content = text(after=f"{AFTER}\n{decoy}\n")
    assert ("error", "D008") in findings(content)
    assert reading(content).value is None
    assert reading(content).metadata is None


@pytest.mark.parametrize("example", ["<foo>", "<permissions>*</permissions>", "", "&&&", "<!DOCTYPE a>", "<process>"])
def test_later_xml_fences_are_the_author_s_examples(example: str) -> None:
    assert findings(text(after=f"{AFTER}\n```xml\n{example}\n```\n")) == []


def test_a_fence_that_is_never_closed_is_an_error() -> None:
    content = f"# T\n\n```xml\n{FENCE}\n"
    assert ("error", "D009") in findings(content)
    assert reading(content).value is None


def test_a_lone_carriage_return_is_an_ordinary_character() -> None:
    (fence,) = scan("```xml\ra\n```").fences
    assert fence.info == "xml\ra"
    assert scan("a\r```xml\n").fences == ()


def test_nesting_beyond_the_cap_is_reported_not_half_read() -> None:
    assert scan("> " * MAX_DEPTH + "```xml\n").fences != ()
    assert scan("> " * (MAX_DEPTH + 1) + "```xml\n").too_deep == 1
    content = text(before=f"# T\n\n{'> ' * (MAX_DEPTH + 1)}\n\n")
    assert findings(content) == [("error", "D006")]


def test_a_quote_that_goes_on_lazily_for_many_lines_takes_linear_time() -> None:
    lines = tries(25_000, 100_000)
    started = time.thread_time()
    scan("> " * 30 + "a\n" + "b\n" * lines)
    assert time.thread_time() - started < lines / 25_000


@pytest.mark.parametrize(
    "before",
    [
        "<!--> -->",
        "<!DOCTYPE d SYSTEM '>'>",
        "<!DOCTYPE d [<!ENTITY e ']'>]>",
        "<!DOCTYPE d [<!-- ] -->]>",
        "<!x '<a>'>",
    ],
)
def test_D008_no_comment_or_declaration_hides_a_second_directive(before: str) -> None:
    content = text(after=f"{AFTER}\n```xml\n{before}\n<directive name='a'/>\n```\n")
    assert ("error", "D008") in findings(content)
    assert reading(content).value is None


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [
        (">```xml\n>\t<directive>\n>\t<b/>\n></directive>\n>```\n", 3, 3),
        ("  ```xml\n\t<directive>\n\t<b/>\n  </directive>\n  ```\n", 3, 2),
        ("- ```xml\n  <directive>\n\t<b/>\n  </directive>\n  ```\n", 3, 2),
    ],
)
def test_a_place_behind_half_a_tab_is_the_file_s(content: str, line: int, column: int) -> None:
    (element,) = parse(scan(content).fences[0]).children
    assert (element.line, element.column) == (line, column)
    assert content.split("\n")[line - 1][column - 1 :] == "<b/>"
