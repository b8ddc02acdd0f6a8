"""The reader of a directive's XML accepts what libxml2 accepts, and reads the same tree (DECISIONS Directives 2)."""

from __future__ import annotations

import contextlib
import gc
from random import Random
from typing import Any

import pytest
from lxml import etree

from rye.items.directive.text_lines import element_lines
from rye.items.directive.xml_document import XmlError
from rye.items.directive.xml_tree import Element, parse
from rye.text.markdown_blocks import scan
from tests.scenes.effort import tries

PIECES = [
    *("<a>", "</a>", "<b>", "</b>", "<b/>", "<b />", "</b >", "<é>", "</é>", "<a-1.b>", "</a-1.b>"),
    *("<b c='>'>", '<b c="é">', "<b\nc='d'/>", "<b c='1' c='2'/>", "<b c='&lt;\n\t&#10;'/>", "<b c=1/>", "<b c/>"),
    *("<b a='1'b='2'/>", "<b c='<'/>", "<b c='&x;'/>"),
    *("t", "\n", "  ", "é", "𝄞", "]]>", "]]", "&", "<", ">", '"', "'", "=", "\ufffe", "\u2028"),
    *("<!-- <a> -->", "<!---->", "<!-- a -- b -->", "<!--->", "<!-- a --->", "<![CDATA[<b>]]>", "<![CDATA[]]>", "<![CDATA["),
    *("&amp;", "&lt;", "&apos;", "&#65;", "&#x41;", "&#xZ;", "&#0;", "&nbsp;", "&amp", "&#1114112;", "&#x1F600;"),
    *("<x:b/>", "<x:b xmlns:x='u'/>", "<b xmlns='u'>", "<b xmlns:x='u' x:c='1'/>", "<b xml:lang='de'/>"),
]  # fmt: skip
"""Excludes ``xmlns:x=''``, which libxml2 accepts and the recommendation forbids (Namespaces in XML 1.0 §2.2)."""
READER = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)


def local(name: str) -> str:
    return name.rpartition(":")[2]


def ours(element: Element) -> tuple[Any, ...]:
    return local(element.tag), element.attributes, element.text, tuple(map(ours, element.children))


def theirs(node: Any) -> tuple[Any, ...]:
    text = (node.text or "") + "".join(child.tail or "" for child in node)
    return etree.QName(node).localname, dict(node.attrib), text, tuple(map(theirs, node))


def both(content: str) -> tuple[tuple[Any, ...] | None, tuple[Any, ...] | None]:
    """The tree as each reads it; None: refused."""
    fence = scan(f"```xml\n{content}\n```\n").fences[0]
    try:
        own = ours(parse(fence))
    except XmlError as error:
        if error.code != "D003":
            return None, None  # what only this reader refuses: namespaces, hidden characters
        own = None
    try:
        return own, theirs(etree.fromstring(fence.text.encode(), READER))
    except etree.XMLSyntaxError:
        return own, None


@pytest.mark.parametrize("seed", range(tries(4, 60)))
def test_random_xml_is_read_as_libxml2_reads_it(seed: int) -> None:
    random = Random(seed)
    read = 0
    for _ in range(400):
        content = "<directive>" + "".join(random.choices(PIECES, k=random.randint(0, 6))) + "</directive>"
        own, other = both(content)
        assert own == other, content
        read += own is not None
    assert read > 20


@pytest.mark.parametrize("content", ["<a>é𝄞<b c='é'/>é</a>", "<a>\n é <!-- é --> <b>𝄞</b>\n<b/></a>"])
def test_places_count_characters_not_bytes(content: str) -> None:
    root = parse(scan(f"# é\n\n```xml\n{content}\n```\n").fences[0])
    for element in root.walk():
        assert content[element.start :].startswith(f"<{element.tag}")
        line, column = content.count("\n", 0, element.start) + 1, element.start - content.rfind("\n", 0, element.start)
        assert (element.line, element.column) == (3 + line, column)
        assert content[element.end :].startswith(f"</{element.tag}>") or content[: element.end].endswith("/>")


def test_a_text_is_let_go_with_its_tree_without_a_collection() -> None:
    fence = scan("```xml\n<directive>é<b/></directive>\n```\n").fences[0]
    broken = scan("```xml\n<directive><b xmlns='u'>\n```\n").fences[0]
    gc.freeze()  # only what is made from here on is looked at
    gc.disable()
    try:
        for _ in range(20):
            parse(fence)
            with contextlib.suppress(XmlError):
                parse(broken)
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("inner", ["a\n&#10;b", "a\n<!-- x\n -->b", "\n<!-- -->\nc"])
def test_in_cdata_comments_and_references_are_text_with_lines_of_their_own(inner: str) -> None:
    (element,) = parse(scan(f"```xml\n<d><a>\n<![CDATA[x{inner}]]>\ny</a></d>\n```\n").fences[0]).children
    lines = element_lines(element)
    assert lines == tuple(range(3, 3 + len(lines)))
    assert len(lines) == element.trimmed.count("\n") + 1
