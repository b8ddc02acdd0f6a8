"""How agent programs look for imports and variables in the files that several of them read, as measured with the real ones.

``tests/clients/test_named_files.py`` measures again: each form of :data:`FORMS` in a real program's instructions, with a file
that exists. ``tests/deployment/test_inert.py`` compares these readers with :data:`IMPORTS`, and then reads what Rye writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from markdown_it import MarkdownIt
from markdown_it.token import Token

FORMS = {
    "alone": "@{file}",
    "in a sentence": "see @{file} now",
    "in a list": "- see @{file} now",
    "in a list's code": "- `see @{file} now` x",
    "in code": "see `x @{file} now`",
    "in bold": "- **Style @{file} x** (`y`): z",
    "in italics": "- a _@{file}_ b",
    "in brackets": "- [@{file}](x)",
    "in parentheses": "- (@{file})",
    "in quotes": '- "@{file}"',
    "in a tag": "<b>@{file}</b>",
    "in a tag with spaces": "<b> @{file} </b>",
    "escaped": "- see \\@{file} now",
    "fenced": "```\n@{file}\n```",
    "with a dot": "- see @./{file} now",
    "as a reference": "- see &#64;{file} now",
    "as a named reference": "&commat;{file}",
    "as a reference in bold": "- **&#64;{file}**",
    "a command": "!`cat {file}`",
    "a command in braces": "!{{cat {file}}}",
    "a path in braces": "@{{{file}}}",
    "a file in braces": "{{file:{file}}}",
    "an include": "#include {file}",
}
"""Ways to name a file in a text, each on lines of its own; ``{file}`` is its name."""

_EVERYWHERE = {"alone", "in a sentence", "in a list", "in bold", "in a tag with spaces", "with a dot"}
IMPORTS: Mapping[str, frozenset[str]] = {
    "claude": frozenset(_EVERYWHERE | {"in a list's code", "in italics", "in brackets", "in a tag"}),
    "codex": frozenset(),
    "copilot": frozenset(_EVERYWHERE | {"in parentheses", "in quotes", "in a tag", "escaped"}),
    "gemini": frozenset(_EVERYWHERE),
    "opencode": frozenset(),
}
"""The forms whose file a program adds to its first request, if they stand in its instructions (the versions that
``tests/clients/programs`` pins)."""


def claude(text: str) -> set[str]:
    """Claude Code reads the Markdown, and then each text outside of code; of a line in a list, also the text as written."""
    markdown = MarkdownIt("commonmark").disable("text_join")
    found = re.compile(r"(?:^|\s)@((?:[^\s\\]|\\ )+)")
    paths: set[str] = set()
    for place in _claude_texts(markdown.parse(text)):
        paths |= {path.partition("#")[0].replace("\\ ", " ") for path in found.findall(place)}
    return {path for path in paths if re.match(r"\./|~/|/.|[a-zA-Z0-9._-]", path)}


def _claude_texts(tokens: list[Token]) -> Iterator[str]:
    lists = 0
    for token in tokens:
        lists += (token.type == "list_item_open") - (token.type == "list_item_close")
        if token.type == "html_block":
            yield re.sub(r"<!--[\s\S]*?-->", "", token.content)
        if token.type == "inline":
            if lists:
                yield token.content
            written = ""
            for child in token.children or ():
                if child.type in ("text", "text_special"):
                    written += child.content if child.type == "text" else child.markup
                    continue
                yield written
                written = ""
            yield written


def copilot(text: str) -> set[str]:
    """Copilot imports outside of code, except after a letter, a digit or an underscore."""
    text = re.sub(r"(?s)```.*?```|`[^`\n]*`", "`", text)
    return set(re.findall(r"(?<![\w`\[])@(\.{0,2}/?[\w][\w./-]*)", text))


def gemini(text: str) -> set[str]:
    """Gemini CLI imports after a space or a line break, except between equal runs of backticks, wherever those stand."""
    code = [match.span() for match in re.finditer(r"(`+)([\s\S]*?)\1", text)]
    found = re.finditer(r"(?:(?<=[ \t\r\n])|^)@([./A-Za-z][^ \t\r\n]*)", text)
    return {match[1] for match in found if not any(start <= match.start() < end for start, end in code)}


def opencode_settings(text: str) -> set[str]:
    """OpenCode fills in files and variables wherever they stand in its settings, before it reads the JSON."""
    return {match[1] for match in re.finditer(r"\{(?:file|env):([^}]+)\}", text)}


INSTRUCTIONS: Mapping[str, Callable[[str], set[str]]] = {"claude": claude, "copilot": copilot, "gemini": gemini}
"""What each program would import from a text of instructions, as written there. Codex and OpenCode import nothing; Cursor could
not be tried."""
