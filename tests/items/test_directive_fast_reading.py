"""The fast readers of tags, calls and elements agree with slow, obvious ones."""

from __future__ import annotations

import re
from random import Random

import pytest

from rye.items.directive.calls import find_calls
from rye.items.directive.process import tags
from rye.items.directive.xml_document import XmlError
from rye.items.directive.xml_tree import parse
from rye.text.markdown_blocks import scan

PIECES = [
    *(
        "`",
        "``",
        "```",
        " ",
        "\n",
        "\n\n",
        "\n \t\n",
        "a",
        "<",
        ">",
        '"',
        "'",
        "<!--",
        "-->",
        "<process>",
        "</process>",
        "\t",
    ),
    *(
        "<step>",
        '<step name="a">',
        "</step>",
        "<step name='",
        '<step a="',
        "<param/>",
        "<stepx>",
        "<search item_type='b'/>",
    ),
    *(
        "rye_load(",
        "rye_sign (",
        "xrye_load(",
        'item_type="tool"',
        "item_id='b'",
        ", ",
        ")",
        "(",
        "{",
        "}",
        "\\",
        "=",
        "é",
    ),
    *(
        '`rye_execute(item_type="tool", item_id="a/b", parameters={"c": "`"})`',
        '`rye_load(item_id="x", item_type="tool")`',
    ),
]
NAMES = "process|steps|step|success_criteria|criterion|description|execute|search|load|sign|param"
TAG = re.compile(rf"</?(?:{NAMES})(?:\s(?:[^<>\"'/]|\"[^\"]*\"|'[^']*'|/(?!>))*)?/?>")
PARAGRAPH_END = re.compile(r"\n[ \t]*(?:\n|(?=</?(?:step|process|success_criteria|criterion)\b))")


def texts(seed: int) -> list[str]:
    random = Random(seed)
    return ["".join(random.choices(PIECES, k=random.randint(1, 24))) for _ in range(300)]


def plain_span_end(text: str, start: int, after: int) -> int:
    ended = PARAGRAPH_END.search(text, start)
    for run in re.finditer("`+", text[: ended.start() + 1 if ended else len(text)]):
        if run.start() >= after and len(run.group()) == after - start:
            return run.end()
    return after


def plain_tags(text: str) -> list[tuple[int, int]]:
    """Start and end of each tag outside code spans and comments, read one character at a time; the text has no fences."""
    found, at = [], 0
    while at < len(text):
        if text[at] == "`":
            after = at + len(text[at:]) - len(text[at:].lstrip("`"))
            at = plain_span_end(text, at, after)
        elif text.startswith("<!--", at) and "-->" in text[at + 4 :]:
            at = text.index("-->", at + 4) + 3
        elif tag := TAG.match(text, at):
            found.append(tag.span())
            at = tag.end()
        else:
            at += 1
    return found


@pytest.mark.parametrize("seed", range(8))
def test_tags_are_those_that_a_plain_reading_finds(seed: int) -> None:
    for text in texts(seed):
        if any(re.match(r"[ \t>]*```", line) for line in text.split("\n")):
            continue
        found = list(tags(text))
        assert [(tag.start, tag.end) for tag in found] == plain_tags(text), text
        for tag in found:
            assert text.split("\n")[tag.line - 1][tag.column - 1 :].startswith("<"), text


def plain_places(text: str) -> list[int]:
    """The places of calls inside code spans, paragraph by paragraph. Their arguments are not read."""
    found, start = [], 0
    for paragraph in re.split(r"(\n[ \t]*\n)", text):
        runs = [(run.start(), run.end()) for run in re.finditer("`+", paragraph)]
        while runs:
            opened = runs.pop(0)
            length = opened[1] - opened[0]
            close = next((index for index, run in enumerate(runs) if run[1] - run[0] == length), None)
            if close is not None:
                span = paragraph[opened[1] : runs[close][0]]
                names = re.finditer(r"(?<![A-Za-z0-9_])rye_(?:execute|search|load|sign)[ \t\r\n]*\(", span)
                found += [start + opened[1] + name.start() for name in names]
                runs = runs[close + 1 :]
        start += len(paragraph)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_calls_stand_where_a_plain_reading_finds_them(seed: int) -> None:
    for text in texts(100 + seed):
        if '"' in text.replace('"tool"', "").replace('"a/b"', "").replace('"c"', "").replace('"x"', "") or "'" in text:
            continue  # a name inside an unclosed quotation is text
        lines = text.split("\n")
        places = [sum(len(line) + 1 for line in lines[: call.line - 1]) + call.column - 1 for call in find_calls(text)]
        assert places == plain_places(text), text


XML = [
    "<a>",
    "</a>",
    "<b/>",
    "<b c='>'>",
    "</b>",
    "t",
    "\n",
    "  ",
    "<!-- <a> -->",
    "<![CDATA[<b>]]>",
    "&amp;",
    "&#65;",
    "é",
    "<b\nc='d'/>",
]


@pytest.mark.parametrize("seed", range(8))
def test_every_element_stands_where_its_place_says_and_holds_its_source(seed: int) -> None:
    random = Random(seed)
    read = 0
    for _ in range(300):
        content = "<directive>" + "".join(random.choices(XML, k=random.randint(0, 8))) + "</directive>"
        text = f"# T\n\n```xml\n{content}\n```\n"
        try:
            root = parse(scan(text).fences[0])
        except XmlError:
            continue
        read += 1
        lines = text.split("\n")
        for element in root.walk():
            rest = "\n".join([lines[element.line - 1][element.column - 1 :], *lines[element.line :]])
            assert rest.startswith(f"<{element.tag}")
            opened = re.match(r"<\w+(?:[^<>'\"]|'[^']*')*>", rest)
            assert opened is not None
            if opened.group().endswith("/>"):
                assert element.source == ""
                continue
            assert rest[opened.end() :].startswith(f"{element.source}</{element.tag}>")
            lead = element.source[: len(element.source) - len(element.source.lstrip())]
            assert element.text_line == element.line + opened.group().count("\n") + lead.count("\n")
    assert read > 20
