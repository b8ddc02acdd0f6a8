"""Colours for code: untrusted code as inert HTML with a class for each of six sorts of tokens. Pure.

Pygments only says where tokens begin and end. Their text is written by :mod:`registry_server.pages.escaped_text`, and code whose
tokens do not add up to exactly the code is written without colours. What is long, or has long lines, stays without colours: the
time for a page is bounded.
"""

from __future__ import annotations

from functools import cache
from pathlib import PurePosixPath
from typing import Any

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


def highlighted(code: str, language: str) -> Markup:
    """Return code as HTML, with colours if it has a known language and is not too long."""
    lexer = _LEXERS.get(language.lower())
    lines = code.split("\n")
    if lexer is None or len(code) > PAGES.highlighted_characters or max(map(len, lines)) > PAGES.highlighted_line:
        return marked(code)
    chosen: Any = lexer
    pieces: list[tuple[str, str]] = []
    for kind, text in _lexer(chosen).get_tokens(code):
        name = _class_of(kind)
        if pieces and pieces[-1][0] == name:
            pieces[-1] = name, pieces[-1][1] + text
        else:
            pieces.append((name, text))
    if "".join(text for _, text in pieces) != code:
        return marked(code)
    return Markup("").join(_piece(name, text) for name, text in pieces)


def _piece(name: str, text: str) -> Markup:
    """Return a token. Each of its lines has its own element, so that a page can number lines."""
    if not name:
        return marked(text)
    return Markup("\n").join(
        Markup(f'<i class="{name}">{marked(line)}</i>') if line else Markup("") for line in text.split("\n")
    )


@cache
def _lexer(lexer: Any) -> Any:
    return lexer(stripnl=False, stripall=False, ensurenl=False)


@cache
def _class_of(kind: Any) -> str:
    if kind is Token.Text:
        return ""
    return next((name for each, name in _CLASSES if kind in each), "")
