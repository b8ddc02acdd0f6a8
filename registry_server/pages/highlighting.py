"""Colours for code: untrusted code as inert HTML with a class for each of six sorts of tokens. Pure.

Pygments only says where tokens begin and end. Their text is written by :mod:`registry_server.pages.escaped_text`, and code whose
tokens do not add up to exactly the code is written without colours.

Code is read in *stretches*, each from a line where a definition probably begins, and each by itself. So any part of a long file
can be coloured without reading what is before it. If a stretch begins within a text of many lines, its colours are wrong until
that text ends, and nothing else is. What a page may spend on colours is bounded (:class:`Colours`): the rest of its code stays
plain, and so do long lines.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import PurePosixPath
from typing import Any, ClassVar

from markupsafe import Markup
from pygments.lexer import RegexLexer
from pygments.lexers.configs import DockerLexer, IniLexer, TOMLLexer
from pygments.lexers.data import JsonLexer, YamlLexer
from pygments.lexers.go import GoLexer
from pygments.lexers.html import HtmlLexer, XmlLexer
from pygments.lexers.javascript import JavascriptLexer, TypeScriptLexer
from pygments.lexers.python import PythonLexer
from pygments.lexers.ruby import RubyLexer
from pygments.lexers.rust import RustLexer
from pygments.lexers.shell import BashLexer, PowerShellLexer
from pygments.lexers.sql import SqlLexer
from pygments.token import Comment, Keyword, Name, Number, String, Token

from registry_server.pages.escaped_text import marked
from registry_server.pages.limits import PAGES


class _MarkdownLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    """Markdown as source, line by line: headings, metadata's names, fences, code, tags, addresses and the marks of lists.

    Pygments' own takes long for crafted text, and reads code in fences with whatever lexer the author names.
    """

    flags = re.MULTILINE
    tokens: ClassVar = {
        "root": [
            (r"^#{1,6}[ \t].*", Keyword),
            (r"^[ \t]*(?:```|~~~).*", Comment),
            (r"^---$", Comment),
            (r"^[ \t]*(?:[-*+]|\d{1,9}[.)])(?=[ \t])", Number),
            (r"^[A-Za-z][\w-]{0,40}:(?=[ \t]|$)", Name.Attribute),
            (r"`[^`\n]+`", String),
            (r"</?[A-Za-z][^<>\n]*>", Name.Tag),
            (r"https?://[^\s<>()\[\]`]+", Name.Builtin),
            (r"[A-Za-z]+|[ \t]+|.|\n", Token.Text),
        ]
    }


_LEXERS: dict[str, type[RegexLexer]] = {
    **dict.fromkeys(("sh", "bash", "shell", "zsh", "console"), BashLexer),
    **dict.fromkeys(("ps1", "powershell", "pwsh"), PowerShellLexer),
    **dict.fromkeys(("py", "python", "python3"), PythonLexer),
    **dict.fromkeys(("js", "javascript", "mjs", "jsx", "cjs"), JavascriptLexer),
    **dict.fromkeys(("ts", "typescript", "tsx"), TypeScriptLexer),
    **dict.fromkeys(("yaml", "yml"), YamlLexer),
    **dict.fromkeys(("xml", "svg", "xsd"), XmlLexer),
    **dict.fromkeys(("dockerfile", "docker"), DockerLexer),
    **dict.fromkeys(("rb", "ruby"), RubyLexer),
    **dict.fromkeys(("rs", "rust"), RustLexer),
    **dict.fromkeys(("ini", "cfg", "conf"), IniLexer),
    **dict.fromkeys(("md", "markdown"), _MarkdownLexer),
    "json": JsonLexer,
    "toml": TOMLLexer,
    "html": HtmlLexer,
    "go": GoLexer,
    "sql": SqlLexer,
}
"""Lexers by the word after a fence or by a file's ending."""
_CLASSES = (
    (Comment, "c"),
    (Keyword, "k"),
    (String, "s"),
    (Number, "n"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Tag, "f"),
    (Name.Builtin, "b"),
    (Name.Attribute, "b"),
    (Name.Decorator, "b"),
    (Name.Variable, "b"),
)


def language_of(path: str) -> str:
    """Return the language of a file by its name; empty: none that has colours."""
    name = PurePosixPath(path).name.lower()
    suffix = PurePosixPath(name).suffix.removeprefix(".")
    return suffix if suffix in _LEXERS else name if name in _LEXERS else ""


Run = tuple[str, str]
"""The class of a piece of a line, empty for none, and its text."""


class Colours:
    """What one page, or one text, may spend on colours."""

    def __init__(self, room: float = float("inf"), seconds: float = PAGES.highlighting_seconds) -> None:
        """``room``: characters of HTML, ``seconds``: processor time."""
        self._room, self._seconds = room, seconds

    def runs(self, lines: Sequence[str], language: str) -> list[list[Run]] | None:
        """Return the coloured pieces of each line of one stretch; None: it stays plain."""
        lexer: Any = _LEXERS.get(language.lower())
        if lexer is None or max(map(len, lines), default=0) > PAGES.highlighted_line:
            return None
        code, found, began = "\n".join(lines), [], time.thread_time()
        for _, kind, text in _lexer(lexer).get_tokens_unprocessed(code):
            if time.thread_time() - began > self._seconds:
                self._seconds = 0
                return None
            found.append((_class_of(kind), text))
        self._seconds -= time.thread_time() - began
        if "".join(text for _, text in found) != code:
            return None
        return list(_divided(found))

    def line(self, runs: Sequence[Run]) -> Markup:
        """Return a line as HTML, without colours where there is no more room for them."""
        cost = sum(_MARKUP for name, _ in runs if name)
        if cost > self._room:
            return marked("".join(text for _, text in runs))
        self._room -= cost
        return Markup("").join(
            Markup(f'<i class="{name}">{marked(text)}</i>') if name else marked(text) for name, text in runs
        )


_MARKUP = len('<i class="c"></i>')


def stretches(lines: Sequence[str]) -> Iterator[range]:
    """Divide code into stretches: ranges of lines, one after the other. One that is too long to be read is a single line."""
    start = size = 0
    for number, line in enumerate(lines):
        if len(line) > PAGES.highlighted_line:
            if number > start:
                yield range(start, number)
            yield range(number, number + 1)
            start, size = number + 1, 0
            continue
        size += len(line) + 1
        if size > PAGES.stretch_characters and number > start:
            end = max(range((start + number) // 2 + 1, number + 1), key=lambda at: (_beginning(lines, at), at))
            yield range(start, end)
            start, size = end, sum(len(line) + 1 for line in lines[end : number + 1])
    if start < len(lines):
        yield range(start, len(lines))


_DEFINITION = re.compile(
    r"(?:async |export |default |pub |static |public |private )*"
    r"(?:def|class|function|func|fn|const|interface|struct|enum|impl) +[\w<]|@\w|\w+\(\) *\{"
)


def _beginning(lines: Sequence[str], at: int) -> int:
    """How likely it is that a lexer can begin at a line. A definition in a class is better than prose, which may be in a text."""
    line = lines[at]
    if not line.strip():
        return 0
    return 4 * (_DEFINITION.match(line.lstrip()) is not None) + (not lines[at - 1].strip()) + (line[0] not in " \t")


def highlighted(code: str, language: str, colours: Colours | None = None) -> Markup:
    """Return code as HTML, with colours if it has a known language."""
    lines = code.split("\n")
    if language.lower() not in _LEXERS:
        return marked(code)
    budget = colours or Colours()
    html: list[Markup] = []
    for each in stretches(lines):
        part = lines[each.start : each.stop]
        runs = budget.runs(part, language)
        html += map(budget.line, runs) if runs is not None else map(marked, part)
    return Markup("\n").join(html)


def _divided(runs: Iterable[Run]) -> Iterator[list[Run]]:
    """Divide runs into lines, and join those of one class. Each line has its own elements, so that a page can number lines."""
    line: list[Run] = []
    for name, text in runs:
        first, *others = text.split("\n")
        for number, piece in enumerate((first, *others)):
            if number:
                yield line
                line = []
            if line and line[-1][0] == name:
                line[-1] = name, line[-1][1] + piece
            elif piece:
                line.append((name, piece))
    yield line


@cache
def _lexer(lexer: Any) -> Any:
    return lexer(stripnl=False, stripall=False, ensurenl=False)


@cache
def _class_of(kind: Any) -> str:
    if kind is Token.Text:
        return ""
    return next((name for each, name in _CLASSES if kind in each), "")
