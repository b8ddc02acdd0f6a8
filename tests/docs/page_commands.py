"""The Rye commands on pages of Markdown, as values: each block with its mark, and each code span in the text. Pure.

A block is fenced or indented. Its mark is the comment right above it (``<!-- run -->`` gives ``run``), or otherwise the
heading above it (``## Try it``). A line of a block is a command if it begins with one of the programs, after a prompt
(``$ ``, ``owner$ ``), a path (``.venv/bin/``) or YAML's ``- `` and ``run: ``. It ends before `` #``, ``>``, ``|`` and
``;``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

PROGRAMS = ("rye", "rye-registry", "make")
_PROGRAM = rf"(?:{'|'.join(sorted(PROGRAMS, key=len, reverse=True))})"
_BLOCK = re.compile(
    r"^(?P<margin> {0,3})(?P<fence>`{3,}|~{3,})(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=margin)(?P=fence)[ ]*$"
    r"|(?:(?<=\n\n)|(?<=-->\n))(?P<indented>    \S[^\n]*\n(?:(?:    [^\n]*)?\n)*)",
    re.MULTILINE | re.DOTALL,
)
_LINE = re.compile(rf"(?:\w*\$ +|- (?:run: )?|run: )?(?:\S*/bin/)?(?P<command>{_PROGRAM}(?: .*)?)")
_SPAN = re.compile(rf"`(?:\$ )?(?P<command>{_PROGRAM} [^`\n]+)`")
_END = re.compile(r"\s+(?:#|>|\||;|\\$).*")


@dataclass(frozen=True, slots=True)
class Block:
    """A block with at least one command. ``line``: of the page, from 1; ``text``: without fence and margin."""

    line: int
    mark: str
    language: str
    text: str
    commands: tuple[str, ...]


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page that show commands, in page order. Source code (Python, TOML) does not count."""
    for found in _BLOCK.finditer(page):
        language = found["language"] or ""
        text = re.sub("^    ", "", found["indented"], flags=re.MULTILINE) if found["indented"] else found["text"]
        commands = tuple(_commands(text))
        if commands and language not in ("python", "toml", "json", "diff", "markdown"):
            yield Block(page.count("\n", 0, found.start()) + 1, _mark(page[: found.start()]), language, text, commands)


def spans(page: str) -> Iterator[str]:
    """The commands in code spans of a page's text."""
    yield from (found["command"].strip() for found in _SPAN.finditer(_BLOCK.sub("", page)))


def _commands(text: str) -> Iterator[str]:
    for line in text.splitlines():
        for part in line.split(" && "):
            if found := _LINE.fullmatch(part.strip()):
                yield _END.sub("", found["command"]).strip()


def _mark(above: str) -> str:
    if comment := re.search(r"<!-- ([^\n]+) -->\n$", above):
        return comment[1]
    headings = re.findall(
        r"^(#+ .+)$", re.sub(r"^(`{3,}|~{3,}).*?^\1", "", above, flags=re.DOTALL | re.MULTILINE), re.MULTILINE
    )
    return str(headings[-1]) if headings else ""
