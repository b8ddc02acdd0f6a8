"""The block structure of Markdown, compared with an independent CommonMark parser on random documents."""

from __future__ import annotations

import re
import time
from random import Random
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.common.utils import unescapeAll
from markdown_it.parser_block import ParserBlock
from markdown_it.rules_block import StateBlock, code
from markdown_it.token import Token

from rye.customization.merge import merge
from rye.items.directive.fence import scan_to_fence
from rye.items.directive.xml_document import sniff_root
from rye.text.markdown_blocks import MAX_DEPTH, may_be_too_deep, scan
from rye.text.markdown_grammar import heading_of
from rye.text.markdown_model import Blocks
from rye.text.markdown_outline import outline
from rye.text.markdown_sections import sections
from tests.customization.override_text import directive, overrides
from tests.scenes.effort import rest_thorough, tries

DOCUMENTS = tries(5_000, 200_000)
HOSTILE = tries(65_536, 262_144)


# The other parser. markdown-it-py deviates from CommonMark in four ways, corrected or avoided here; each was checked against the
# reference implementations' algorithm, which the specification's appendix describes.


class _State(StateBlock):
    """1. A lazy continuation line that is indented by four or more below its list item's content is paragraph text: nothing that
    deep starts a block, and indented code does not interrupt a paragraph. markdown-it-py measures such a line from the inner
    item instead of from the container that the line continues, so ``# h`` can end the paragraph in ``10. x\\n    # h``."""

    open: list[int]
    in_code_rule: bool

    def is_code_block(self, line: int) -> bool:
        columns = self.sCount[line]
        if self.in_code_rule or columns >= self.blkIndent:
            return super().is_code_block(line)
        if columns < 0:  # a quote's lazy line, which the outer level has already processed
            return True
        return columns - max((indent for indent in self.open if indent <= columns), default=self.blkIndent) >= 4


class _Blocks(ParserBlock):
    def tokenize(self, state: StateBlock, startLine: int, endLine: int) -> None:
        assert isinstance(state, _State)
        outer = state.open
        state.open = [*(outer if state.blkIndent else []), state.blkIndent]
        super().tokenize(state, startLine, endLine)
        state.open = outer

    def parse(self, src: str, md: MarkdownIt, env: Any, outTokens: list[Token]) -> list[Token] | None:
        if not src:
            return None
        state = _State(src, md, env, outTokens)
        state.open, state.in_code_rule = [], False
        self.tokenize(state, state.line, state.lineMax)
        return state.tokens


def _code_rule(state: StateBlock, startLine: int, endLine: int, silent: bool) -> bool:
    assert isinstance(state, _State)
    state.in_code_rule = True
    try:
        return code(state, startLine, endLine, silent)
    finally:
        state.in_code_rule = False


def _other_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": 400})
    parser.core.ruler.enableOnly(["normalize", "block"])
    # 2. After a definition, markdown-it-py starts blocks that cannot interrupt a paragraph (``2.``, ``<a>``, indented code); the
    # reference implementations take definitions out when the paragraph closes. No random document has a whole definition.
    parser.block.ruler.disable("reference")
    blocks = _Blocks()
    blocks.ruler = parser.block.ruler
    blocks.ruler.at("code", _code_rule)
    parser.block = blocks
    return parser


_OTHER = _other_parser()
# 3. It treats ``>`` after four or more columns as a quote marker. 4. It counts a tab after a quote marker from the wrong
# column.
_LEFT_OUT = re.compile(r"(?: {4}|\t)[ \t]*>|>[^a-z]*\t")

_PREFIXES = (
    *("> ", ">", "- ", "-", "* ", "+  ", "1. ", "2) ", "10. ", " ", "  ", "   ", "    ", "\t", "- \t", "-    ", "-     "),
)  # fmt: skip
_CONTENTS = (
    *("", "", "", "a", "b c", "# h", "## h ##", "#", "####### x", "#x", "===", "---", "***", "* * *", "--", "=", "- - -"),
    *("___", "```", "````", "~~~", "```xml", "~~~ a b", "``` a`b", "`", "<div>", "</div>", "<a>", "<a href='x'>", "</a>"),
    *("<!-- c -->", "<!--", "-->", "<!-->", "x <!--", "<?", "?>", "<!X", "<!x>", ">", "<![CDATA[", "]]>", "<pre>"),
    *("</pre>", "<script>", "<a b='c"),
    *("<process>", "</process>", "</step>", "<table", "[a", "123456789. x", "1234567890. x", "2. x", "1.", "\\", "    x", "a\tb"),
)  # fmt: skip


def _document(random: Random) -> str:
    """Up to a dozen lines with related prefixes, so that containers continue, nest and have lazy continuation lines."""
    lines: list[str] = []
    for _ in range(random.randint(1, 12)):
        if lines and random.random() < 0.35:
            base = random.choice(lines)
            prefix = base[: random.randint(0, len(base))]
            if random.random() < 0.5:
                prefix = " " * len(prefix)
        else:
            prefix = "".join(random.choices(_PREFIXES, k=random.choice((0, 0, 0, 1, 1, 2, 3))))
        ending = random.choice(("", " ", "  ", "\t", " #", " x")) if random.random() < 0.2 else ""
        lines.append(prefix + random.choice(_CONTENTS) + ending)
    return "\n".join(lines) + random.choice(("", "\n"))


def _plain(content: str) -> list[str]:
    """Content without leading whitespace, which tabs make ambiguous, and without trailing whitespace."""
    return [line.lstrip(" \t") for line in content.rstrip("\n \t").split("\n")]


def _expected(text: str) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {
        key: [] for key in ("heading", "fence", "code", "html", "break", "container")
    }
    depth = 0
    for token in _OTHER.parse(text + "\n"):  # without a line end there, it raises IndexError for some quotes
        first, last = token.map or (0, 0)
        line = first + 1
        if token.type == "heading_open":
            setext = token.markup in "=-"
            found["heading"].append((int(token.tag[1]), setext, last if setext else line, depth))
        elif token.type == "fence":
            found["fence"].append((unescapeAll(token.info).strip(), line, depth, _plain(token.content)))
        elif token.type == "code_block":
            found["code"].append((line, depth, len(_plain(token.content)) + first))
        elif token.type == "html_block":
            found["html"].append((line, depth, token.content.rstrip("\n \t>").count("\n") + line))
        elif token.type == "hr":
            found["break"].append((line, depth))
        elif token.type in ("blockquote_open", "list_item_open"):
            found["container"].append((token.type == "blockquote_open", line, depth))
            depth += 1
        elif token.type in ("blockquote_close", "list_item_close"):
            depth -= 1
    return found


def _seen(text: str, blocks: Blocks) -> dict[str, list[tuple[Any, ...]]]:
    lines = text.split("\n")

    def last_with_text(line: int, end_line: int) -> int:
        while end_line > line and not lines[end_line - 1].strip(" \t>"):
            end_line -= 1
        return end_line

    return {
        "heading": [(h.level, h.setext, h.line, h.depth) for h in blocks.headings],
        "fence": [(f.info, f.line, f.depth, _plain(f.text)) for f in blocks.fences],
        "code": [(c.line, c.depth, c.end_line) for c in blocks.code],
        "html": [(h.line, h.depth, last_with_text(h.line, h.end_line)) for h in blocks.html],
        "break": [(b.line, b.depth) for b in blocks.breaks],
        "container": [(c.quote, c.line, c.depth) for c in blocks.containers],
    }


def _documents(seed: int) -> list[str]:
    random = Random(seed)
    made = (_document(random) for _ in range(DOCUMENTS))
    return ["\n".join(line for line in text.split("\n") if not _LEFT_OUT.search(line)) for text in made]


def test_property_every_block_is_where_commonmark_has_it() -> None:
    for text in _documents(1):
        assert _seen(text, scan(text)) == _expected(text), repr(text)


def test_property_places_lead_back_into_the_text() -> None:
    for text in _documents(2)[: DOCUMENTS // 2]:
        lines = text.split("\n")
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line) + 1)
        blocks = scan(text)
        assert blocks.read_to == len(text)
        for heading in blocks.headings:
            assert heading.offset == starts[heading.line - 1]
            if not heading.setext:
                assert "#" * heading.level in lines[heading.line - 1]
                assert lines[heading.line - 1].rstrip(" \t#").endswith(heading.text.rstrip(" \t#"))
        for fence in blocks.fences:
            assert (fence.start, fence.end) == (starts[fence.line - 1], min(starts[fence.end_line], len(text)))
            assert text[fence.start + fence.column - 1] in "`~"
            assert len(fence.lines) == fence.end_line - fence.line - fence.closed
            for number, line in enumerate(fence.lines, 1):
                at, column = fence.place(number, 1)
                assert lines[at - 1].endswith(line.lstrip(" "))
                assert "\t" in lines[at - 1] or lines[at - 1][column - 1 :] == line
        for container in blocks.containers:
            assert container.line <= container.end_line <= len(lines)


def test_property_sections_are_the_top_level_atx_headings_of_commonmark() -> None:
    for text in _documents(3)[: DOCUMENTS // 2]:
        lines = text.split("\n")
        found = sections(lines)
        expected = [
            (level, line - 1) for level, setext, line, depth in _expected(text)["heading"] if not (setext or depth)
        ]
        assert [(block.level, block.start) for block in found.blocks if block.level] == expected, repr(text)
        assert [line for block in found.blocks for line in lines[block.start : block.end]] == lines


def test_property_reading_a_directive_may_stop_below_its_fence() -> None:
    """The unread rest contains no second directive and no nesting that would be refused."""
    random = Random(4)
    pieces = ("```xml", "<directive", "x:directive>", "```", "> " * 20, "- " * 20, "\t" * 9, "-\t" * 17, "a", "")
    for _ in range(DOCUMENTS // 2):
        text = "\n".join(
            random.choice(pieces) + (random.choice(pieces) if random.random() < 0.3 else "") for _ in range(8)
        )
        whole, read = scan(text), scan_to_fence(text)
        roots = [[sniff_root(f.text) for f in each.fences if f.word == "xml"] for each in (whole, read)]
        assert whole.too_deep == read.too_deep, repr(text)
        assert roots[0][:1] == roots[1][:1]
        assert roots[0][1:].count("directive") == roots[1][1:].count("directive"), repr(text)
        if whole.too_deep:
            assert may_be_too_deep("\n" + text, 0)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("<script>\n# a\n\n# b</script> x\n# c", [1]),
        ("<PRE>\n\n# a\n</style>\n# c", [1]),
        ("<!-- a\n\n# b --> x\n# c", [2]),
        ("<!-->\n# c", [2]),
        ("<?php\n\n# b ?>\n# c", [3]),
        ("<!doctype\n\n# b>\n# c", [4]),
        ("<![CDATA[\n\n# b]]>\n# c", [5]),
        ("</DIV\n# b\n\n# c", [6]),
        ("<p/>\n# b\n\n# c", [6]),
        ("<any-tag a = 'b' c>\n# b\n\n# c", [7]),
        ("</step >\n# b\n\n# c", [7]),
        ("x\n<div>\n# b\n\n# c", [6]),
        ("x\n<a>\n# c", []),
        ("> x\n<a>\n# c", []),
        ("<a b='>\n# c", []),
        ("<a>x\n# c", []),
    ],
)
def test_html_blocks_of_each_kind_hold_headings_back(text: str, kinds: list[int]) -> None:
    blocks = scan(text)
    assert [block.kind for block in blocks.html] == kinds
    assert [heading.text for heading in blocks.headings] == ["c"]
    assert all(block.closed for block in blocks.html)


@pytest.mark.parametrize(
    ("text", "left_open"),
    [
        ("```\n# a", "code fence"),
        ("~~~~\n```\n~~~", "code fence"),
        ("<!-- a\n\n# b", "HTML comment"),
        ("<pre>\n\n# b", "HTML block"),
        ("<div>\n# b", None),
        ("- ```\n  # a\nb", None),
        ("> <!-- a\nb", None),
        ("```\na\n```", None),
    ],
)
def test_what_a_text_leaves_open_is_named(text: str, left_open: str | None) -> None:
    assert scan(text).open_at_end == left_open


@pytest.mark.parametrize(
    ("text", "headings", "breaks"),
    [
        ("[a]: b\n===", [], []),
        ("[a]: b\n---", [], [2]),
        ("[a]: b 'c\nd'\n---", [], [3]),
        ("[a]:\n<b c>\n---", [], [3]),
        ("[a]: b\nc\n---", [3], []),
        ("[a]: b c\n---", [2], []),
        ("[a]: b\n[c]: d\n===\n===", [4], []),
        ("[]: b\n---", [2], []),
        ("[a\\]: b\n---", [2], []),
        ("> [a]: b\n> ---", [], [2]),
        ("- [a]: b\n  ---", [], [2]),
    ],
)
def test_definitions_are_not_underlined_into_headings(text: str, headings: list[int], breaks: list[int]) -> None:
    blocks = scan(text)
    assert [heading.line for heading in blocks.headings] == headings
    assert [each.line for each in blocks.breaks] == breaks


@pytest.mark.parametrize("text", ["[a]: b\n2. x", "[a]: b\n<a>", "[a]: b\n    x", "[a]: b\n-"])
def test_what_does_not_interrupt_a_paragraph_does_not_follow_a_definition(text: str) -> None:
    """As in the reference implementations, definitions are removed from a paragraph when it closes."""
    blocks = scan(text)
    assert (blocks.containers, blocks.html, blocks.code) == ((), (), ())


def test_only_comments_shelter_where_that_is_asked_for() -> None:
    text = "<instructions>\n## A\n\n<!--\n## B\n-->\n<pre>\n\n## C\n</pre>"
    assert [heading.text for heading in scan(text, only_comments=True).headings] == ["A", "C"]
    assert [heading.text for heading in outline(text).headings] == ["A", "C"]
    assert scan(text).headings == ()


def test_list_items_say_the_paragraph_that_they_start_with() -> None:
    blocks = scan("- a\n  b\nlazy\n- \n  c\n- # d\n1. - e\n- [f]\n\n  g\n- ```\n- h")
    assert [c.text for c in blocks.containers if not c.depth] == ["a\nb\nlazy", "c", "", "", "[f]", "", "h"]


def test_a_lone_carriage_return_and_unicode_line_ends_end_no_line() -> None:
    for end in ("\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"):
        assert scan(f"a{end}# b").headings == ()
        assert [h.text for h in scan(f"# a{end}# b").headings] == [f"a{end}# b"]


def test_a_heading_s_text_loses_its_closing_hashes_only() -> None:
    assert heading_of("  ## a # b ##  ") == (2, "a # b")
    assert heading_of("# a#") == (1, "a#")
    assert heading_of("### ###") == (3, "")
    assert heading_of("#\ta\t#") == (1, "a")
    for text in ("a", "#a", "####### a", "    # a", "\t# a", ""):
        assert heading_of(text) is None


def test_nesting_is_read_up_to_the_limit_and_reported_beyond_it() -> None:
    for marker in ("> ", "- ", "1. "):
        assert scan(marker * MAX_DEPTH + "# a").too_deep is None
        assert scan("\n" + marker * (MAX_DEPTH + 1) + "# a").too_deep == 2
    deeper = "".join("  " * depth + "- a\n" for depth in range(MAX_DEPTH + 1))
    assert scan(deeper).too_deep == MAX_DEPTH + 1


def test_reading_stops_after_the_fence_that_was_asked_for() -> None:
    text = "# a\n```sh\n```\n> ```xml\n\n~~~ XML x\n# b\n~~~\n# c\n"
    blocks = scan(text, until="xml")
    assert blocks.read_to == text.index("# c")
    assert [heading.text for heading in blocks.headings] == ["a"]
    assert [fence.line for fence in blocks.fences] == [2, 4, 6]


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    rest_thorough(14, [
        *("> ", "- ", "`", "~", "[a]: b\n", "<!--\n", "<a ", "- a\n", "```a`\n", "a\n=\n", "\t", "* * x\n", "1. ", "\n"),
        *("[a\n", "[", "[a]: b\n===\n", "```\n````\n", "- ```\n", "<a b='", "<a b=c ", "</", "#", "# a #", " ", "a"),
        *("> - a\n", "- \n", "    a\n\n", "-\n\n", "<pre>\n", "\\", "[\\", "   ```\n", "=", "_ "),
    ]),
)  # fmt: skip
def test_hostile_markdown_takes_linear_time(unit: str) -> None:
    content = (unit * HOSTILE)[:HOSTILE]
    started = time.thread_time()
    scan(content)
    scan("- [a\n" + content)
    scan("~~~~~\n" + content)
    sections(content.split("\n"))
    assert time.thread_time() - started < HOSTILE / 13_000


# The bug that led to this scanner: a section was replaced inside a code sample.


@pytest.mark.parametrize(
    "sample",
    [
        "-\n\n  ```\n## Tea\n  ```\n",
        "- a\n  ```\n  ## Tea\n  ```\n",
        "- a\n\n  ## Tea\n",
        "> ## Tea\n",
        "1. - ~~~\n     ## Tea\n     ~~~\n",
        "<pre>\n\n## Tea\n</pre>\n",
        "<div>\n## Tea\n</div>\n",
        "<!--\n\n## Tea\n-->\n",
        "- <!--\n\n  ## Tea\n",
    ],
)
def test_merging_replaces_no_heading_inside_another_block(sample: str) -> None:
    base = f"{sample}\n## Tea\n\nOld.\n"
    result = merge(base, overrides(directive("replace", "## Tea", "## Tea\n\nNew.")), base_name="sage")
    assert result.output == f"{sample}\n## Tea\n\nNew.\n"


def test_merging_refuses_what_it_cannot_read() -> None:
    deep = "- " * (MAX_DEPTH + 1) + "a"
    result = merge(f"{deep}\n\n## Tea\n", overrides(directive("append", "## Tea", "x")), base_name="sage")
    assert (result.output, result.exit_code) == (None, 2)
    assert [d.code for d in result.diagnostics] == ["nested-too-deep"]
    result = merge("## Tea\n", overrides(directive("append", "## Tea", deep)), base_name="sage")
    assert (result.output, result.exit_code) == ("## Tea\n", 1)
    assert [d.code for d in result.diagnostics] == ["nested-too-deep"]
    keys = overrides(directive("frontmatter-set", key="a", content="1"))
    assert merge(deep, keys, base_name="sage").output == f"---\na: 1\n---\n\n{deep}\n".removesuffix("\n")
