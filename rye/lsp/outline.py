"""What a document consists of, for an editor's outline. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from rye.limits import EDITOR
from rye.lsp.cursor import fence_of

Sort = Literal["heading", "step", "input", "output", "table", "key"]

_HEADING = re.compile(r"^(#{1,6})[ \t]+(\S[^\n]{0,200}?)[ \t]*#*[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_NAMED = re.compile(r"<(step|input|output)\b[^<>]{0,2000}?\bname\s*=\s*(?:\"([^\"<>]{1,200})\"|'([^'<>]{1,200})')")
_TABLE = re.compile(r"^[ \t]*\[\[?([^\[\]\n]{1,200})\]\]?", re.MULTILINE)
_KEY = re.compile(r"^[ \t]*(\"[^\"\n]{1,200}\"|[A-Za-z0-9_-]{1,200})[ \t]*=", re.MULTILINE)
_SORTS: dict[str, Sort] = {"step": "step", "input": "input", "output": "output"}


class OutlinePart(Struct, frozen=True):
    """One part of a document. Offsets are of the text."""

    name: str
    sort: Sort
    start: int
    end: int
    """Where the part's first line ends."""


def outline(text: str, *, manifest: bool) -> list[OutlinePart]:
    """Return the parts of an item or a rye.toml in the order of the text, at most :data:`rye.limits.EDITOR` ``.parts``."""
    found = _of_manifest(text) if manifest else _of_item(text)
    return sorted(found, key=lambda part: part.start)[: EDITOR.parts]


def _of_manifest(text: str) -> list[OutlinePart]:
    tables = [OutlinePart(one[1].strip(), "table", one.start(1), one.end(1)) for one in _TABLE.finditer(text)]
    return tables + [OutlinePart(one[1].strip('"'), "key", one.start(1), one.end(1)) for one in _KEY.finditer(text)]


def _of_item(text: str) -> Iterator[OutlinePart]:
    code = _code_blocks(text)
    for heading in _HEADING.finditer(text):
        if not any(start <= heading.start() < end for start, end in code):
            yield OutlinePart(heading[2], "heading", heading.start(), heading.end())
    fence = fence_of(text)
    if fence is not None:
        for named in _NAMED.finditer(text, *fence):
            yield OutlinePart(named[2] or named[3], _SORTS[named[1]], named.start(), named.end())


def _code_blocks(text: str) -> list[tuple[int, int]]:
    """The spans of fenced code, in which `#` begins a comment."""
    blocks: list[tuple[int, int]] = []
    opened: tuple[str, int] | None = None
    for mark in _FENCE.finditer(text):
        if opened is None:
            opened = mark[1], mark.start()
        elif mark[1].startswith(opened[0]) and mark[0].strip() == mark[1]:
            blocks.append((opened[1], mark.end()))
            opened = None
    return [*blocks, (opened[1], len(text))] if opened is not None else blocks
