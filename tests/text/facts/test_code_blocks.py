"""Which lines of a page are code."""

from __future__ import annotations

import pytest

from rye.text.facts.code_blocks import CodeBlock, fenced_blocks, indented_lines, listings
from rye.text.facts.word_lines import line_starts

FENCED: dict[str, tuple[str, list[CodeBlock]]] = {
    "a language": ("```Bash title=x\na\n```", [("bash", 1, 2)]),
    "none": ("```\na\nb\n```", [("", 1, 3)]),
    "one without an end": ("a\n```sh\nb\nc", [("sh", 2, 4)]),
    "one without lines": ("```sh\n```\na", []),
    "a shorter fence inside": ("````md\n```sh\na\n```\n````", [("md", 1, 4)]),
    "another mark inside": ("~~~sh\n```\na\n~~~", [("sh", 1, 3)]),
    "a mark with words inside": ("```sh\n``` a\nb\n```", [("sh", 1, 3)]),
    "one in a list": ("1. ```sh\n   a\n   ```", [("sh", 1, 2)]),
    "one in a quotation": ("> ```sh\n> a\n> ```", [("sh", 1, 2)]),
    "two": ("```a\nb\n```\n\n```c\nd\n```", [("a", 1, 2), ("c", 5, 6)]),
}


@pytest.mark.parametrize(("text", "blocks"), FENCED.values(), ids=FENCED)
def test_fenced_blocks(text: str, blocks: list[CodeBlock]) -> None:
    lines = text.split("\n")
    assert fenced_blocks(lines, range(len(lines))) == blocks


LISTINGS: dict[str, tuple[str, list[CodeBlock]]] = {
    "a language": ("[source,sh]\n----\na\n----", [("sh", 2, 3)]),
    "an option": ("[source%linenums, Ruby]\n----\na\n----", [("ruby", 2, 3)]),
    "none": ("----\na\n----", [("", 1, 2)]),
    "dots": ("....\na\n----\n....", [("", 1, 3)]),
    "one without an end": ("----\na", [("", 1, 2)]),
    "a shorter line": ("---\na\n---", []),
}


@pytest.mark.parametrize(("text", "blocks"), LISTINGS.values(), ids=LISTINGS)
def test_listings_of_asciidoc(text: str, blocks: list[CodeBlock]) -> None:
    assert listings(text.split("\n")) == blocks


INDENTED = {
    "behind an empty line": ("a\n\n    b\n\n    c\nd", {2, 3, 4}),
    "with a tab": ("a\n\n\tb", {2}),
    "in a paragraph": ("a\n    b", set()),
    "from the first line on": ("    a\n    b\nc", {0, 1}),
    "by three blanks": ("a\n\n   b", set()),
    "in an item of a list": ("- a\n\n    b", set()),
    "by eight in an item of a list": ("- a\n\n        b", {2}),
    "behind a paragraph that follows a list": ("- a\n\nb\n\n    c", {4}),
}


@pytest.mark.parametrize(("text", "numbers"), INDENTED.values(), ids=INDENTED)
def test_indented_lines(text: str, numbers: set[int]) -> None:
    lines = text.split("\n")
    assert indented_lines(text, lines, line_starts(lines), [None] * len(lines)) == numbers


def test_indented_lines_of_a_fenced_block_belong_to_it() -> None:
    lines = ["```", "", "    a", "```"]
    assert indented_lines("\n".join(lines), lines, line_starts(lines), [None, "", "", None]) == frozenset()
