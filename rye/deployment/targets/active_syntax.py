"""What a program acts on when it reads a text: imports, commands, variables. Each adapter names its program's own in
``TARGET.active``.

Authors' words in a file that several programs read are written so that none of them acts on any of it (:func:`inert`). In a
file that only one program reads, a text that this program would act on is refused or asked about
(:mod:`rye.deployment.rendering`). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal

from msgspec import Struct

from rye.items.autorun import is_secret_name

_SHOWN = 40
Reading = Literal["instructions", "skill", "agent", "command", "settings"]
"""What a program reads a text as. ``instructions``: a file that is part of every session, such as ``AGENTS.md``."""


class ActiveSyntax(Struct, frozen=True):
    """One thing that a program acts on."""

    begins: str
    """A regular expression for where it begins; the first character that it matches is always that of the syntax."""
    shown: str
    """How it looks, for people."""
    does: str
    """What the program does with it, as the end of a sentence that starts with the program's name."""
    reads_as: tuple[Reading, ...]
    """Where the program acts on it."""


class Active(Struct, frozen=True):
    """A place in a text that a program acts on."""

    syntax: ActiveSyntax
    words: str
    """The beginning of that place."""


def active_in(text: str, syntaxes: Iterable[ActiveSyntax], reading: Reading) -> Active | None:
    """Return the first place of the first syntax that a program would act on if it read the text so."""
    for one in syntaxes:
        match = _pattern(one.begins).search(text) if reading in one.reads_as else None
        if match is not None:
            return Active(one, text[match.start() :][:_SHOWN].split("\n")[0])
    return None


def inert(text: str, syntaxes: Sequence[ActiveSyntax]) -> str:
    """Write an author's text for one line of a shared Markdown file: no markup, no comments, no line breaks, and nothing that
    begins one of the syntaxes, whatever they are read as.

    A code span would not do: Claude Code imports from those in lists, and Gemini CLI pairs the backticks of the whole file.
    Character references hold wherever they stand; no program that we tried decodes them before it looks for imports.
    """
    words = " ".join(text.split())
    begins = [_pattern(one.begins) for one in syntaxes]
    return "".join(_written(words, place, begins) for place in range(len(words)))


_MARKUP = {"<": "&lt;", ">": "&gt;", "`": "'", "*": "\\*", "[": "\\[", "]": "\\]", "\\": "\\\\"}


def _written(words: str, place: int, begins: Sequence[re.Pattern[str]]) -> str:
    """Return how the character at one place is written."""
    character = words[place]
    if character in _MARKUP:
        return _MARKUP[character]
    if any(pattern.match(words, place) for pattern in begins):
        return f"&#{ord(character)};"
    if character == "&" and _pattern(r"&#?\w+;").match(words, place):
        return "&amp;"
    return character


def named_files(text: str) -> tuple[str, ...]:
    """Return the paths that a program adds to the conversation when it loads this skill, each once, in their order.

    Claude Code and OpenCode do so for every ``@path`` of a file that exists, also inside code, outside the project and without a
    question. Decorators and packages (``@app.function()``, ``@scope/name``) look alike: only what reads as a file's path counts.
    """
    found = _pattern(r'(?<![\w`])@(?:"([^"\n]+)"|([^\s`,"]+))').finditer(text)
    paths = (match[1] or match[2].rstrip(".:;!?)]}>'*_") for match in found)
    return tuple(dict.fromkeys(path for path in paths if _reads_as_file(path)))


def _reads_as_file(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    if path.startswith(("./", "../", "~/", "/")) or any(map(is_secret_name, path.split("/"))):
        return bool(name.strip("."))
    ends = r"[^()]+\.[^.()]+" if folder else r"\.?[\w-]+\.\w{1,4}|\.\w[\w.-]*"
    return _pattern(ends).fullmatch(name) is not None


@cache
def _pattern(begins: str) -> re.Pattern[str]:
    return re.compile(begins)
