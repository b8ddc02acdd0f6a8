"""Run a command and return what a terminal of a given width shows: both streams in order, with colours as tags."""

from __future__ import annotations

import io
import os
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

from rye.cli.main import run
from rye.cli.options import Session
from tests.scenes.person import Person

_STYLE = re.compile(r"(?:\x1b\[[0-9;]*m)+")
_NAMES = {"1": "bold", "2": "dim", "31": "red", "32": "green", "33": "yellow", "34": "blue", "36": "cyan"}
_SAME = (
    (re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "2026-01-02T03:04:05Z"),
    (re.compile(r"\b20\d\d-\d\d-\d\d\b"), "2026-01-02"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "0123456789abcdef" * 4),
    (re.compile(r"\b[0-9a-f]{32}\b"), "0123456789abcdef" * 2),
    (re.compile(r"127\.0\.0\.1:\d{4,5}\b"), "127.0.0.1:12345"),
    (re.compile(r"\bPython 3\.\d+\.\d+"), "Python 3.11.0"),
    (re.compile(r"\b\d+ (minutes|hours) (ago|old)\b|\bjust now\b"), "just now"),
)


class _Terminal(io.TextIOWrapper):
    """A stream in memory that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


class _Keyboard(io.StringIO):
    """Standard input that gives the same answer to every question, and echoes it as terminals do."""

    def __init__(self, answer: str, screen: _Terminal) -> None:
        super().__init__()
        self._line, self._screen = f"{answer}\n", screen

    def isatty(self) -> bool:
        return True

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        self._screen.write(self._line)
        return self._line


def take(person: Person, words: tuple[str, ...], width: int, *, color: bool = False, answer: str = "n") -> str:
    """Run ``rye WORDS`` and return the command line, the screen and, unless it is 0, the exit code. Questions get ``answer``."""
    kept = io.BytesIO()
    screen = _Terminal(kept, encoding="utf-8", newline="\n", write_through=True)
    typed = _Keyboard(answer, screen)
    environment = {**person.environment, "COLUMNS": str(width), "LINES": "24", "TERM": "xterm"}
    environment |= {
        "RYE_COLOR": "always" if color else "never",
        "RYE_NO_PROGRESS": "1",
    }  # a slow machine would show some
    before = os.getcwd()
    with (
        mock.patch.dict(os.environ, environment, clear=True),
        mock.patch.object(sys, "stdin", typed),
        redirect_stdout(screen),
        redirect_stderr(screen),
    ):
        os.chdir(person.folder)
        try:
            code = run(list(words), Session())
        finally:
            os.chdir(before)
    shown = _same_everywhere(kept.getvalue().decode(), person)
    return f"$ rye {' '.join(words)}\n{tagged(shown)}" + (f"(exit {code})\n" if code else "")


def _same_everywhere(shown: str, person: Person) -> str:
    """Replace what differs between runs: times, hashes and ports by values of the same length, and the machine's folders."""
    for pattern, same in _SAME:
        shown = pattern.sub(same, shown)
    for folder, name in ((person.folder, "/shop"), (person.folder.parent.parent, "/team")):
        shown = shown.replace(str(folder), name)
    return shown


def tagged(shown: str) -> str:
    """Replace colours by tags such as ``[bold red]…[/]``. Fails on any other control character."""
    text = _STYLE.sub(_tag, shown)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), repr(text)
    return text


def _tag(found: re.Match[str]) -> str:
    codes = [code for code in re.findall(r"\d+", found[0]) if code != "0"]
    return f"[{' '.join(sorted(_NAMES[code] for code in codes))}]" if codes else "[/]"
