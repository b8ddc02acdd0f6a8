"""What can complete the word at the cursor: a pure function of the stored table and the words before it.

The table has one row for each command, keyed by its words (``override new``; ``""`` for the program itself): ``help``,
``options`` (name → the kind of its value, null for a flag), ``arguments`` (the kinds of their values in order; the last one
repeats where ``more`` is true) and ``commands`` (the names below a family).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Table = Mapping[str, Row]

_FOLDER_OPTIONS = ("-C", "--directory")


class AtCursor:
    """What the shell asks for. Not a Struct, because importing msgspec takes longer than everything else here.

    ``words``: fixed candidates with their help. ``value``: a kind of value that :mod:`rye.workspace.completion.names` knows.
    ``incomplete``: what the person typed so far. ``folder``: the folder that ``-C`` named, or None.
    """

    __slots__ = ("folder", "incomplete", "value", "words")

    def __init__(self, incomplete: str, words: Mapping[str, str] | None = None, value: str = "") -> None:
        self.incomplete = incomplete
        self.words = dict(words or {})
        self.value = value
        self.folder: str | None = None


def split_words(line: str) -> list[str]:
    """The words of a line as the shell would split them. An open quote at the end is closed."""
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:  # an open quote, or a backslash at the end
        words.append(lexer.token or "")
    return words


def typed(line: str, index: int | None) -> tuple[list[str], str]:
    """The complete words after the program's name, and the word at the cursor.

    ``index``: the number of the word at the cursor, or None if the line ends at the cursor.
    """
    words = split_words(line)
    if index is None:
        at_new_word = not line or line[-1].isspace()
        return (words[1:], "") if at_new_word or len(words) < 2 else (words[1:-1], words[-1])
    return words[1:index], words[index] if index < len(words) else ""


def at_cursor(table: Table, words: Sequence[str], incomplete: str) -> AtCursor:
    """What can follow ``words``."""
    line = _Line(table)
    for word in words:
        if not line.take(word):
            return AtCursor(incomplete)
    found = line.expected(incomplete)
    found.folder = line.folder
    return found


class _Line:
    """The words of a command, read one by one."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.path = ""
        self.options = dict(table[""]["options"])
        self.positionals = 0
        self.waiting = ""
        """The option whose value comes next."""
        self.only_arguments = False
        self.folder: str | None = None

    def take(self, word: str) -> bool:
        """Whether the word is accepted here."""
        if self.waiting:
            if self.waiting in _FOLDER_OPTIONS:
                self.folder = word
            self.waiting = ""
        elif not self.only_arguments and word == "--":
            self.only_arguments = True
        elif not self.only_arguments and word.startswith("-") and word != "-":
            # `--level=error`, `-Cdir` and `-qv` carry their value with them
            alone = "=" not in word if word.startswith("--") else len(word) == 2
            self.waiting = word if alone and self.options.get(word) is not None else ""
        elif self.table[self.path].get("commands"):
            if word not in self.table[self.path]["commands"]:
                return False
            self.path = f"{self.path} {word}".strip()
            self.options |= self.table[self.path]["options"]
        else:
            self.positionals += 1
        return True

    def expected(self, incomplete: str) -> AtCursor:
        """What can replace ``incomplete``."""
        row = self.table[self.path]
        if self.waiting:
            return _value(self.options[self.waiting] or "", incomplete, self.table)
        if incomplete.startswith("-") and not self.only_arguments:
            name, equals, begun = incomplete.partition("=")
            if equals:
                return _value(self.options.get(name) or "", begun, self.table)
            return AtCursor(incomplete, dict.fromkeys(row["options"], ""))
        if row.get("commands"):
            below = {name: self.table[f"{self.path} {name}".strip()]["help"] for name in row["commands"]}
            return AtCursor(incomplete, below)
        return _value(self._argument(row), incomplete, self.table)

    def _argument(self, row: Row) -> str:
        kinds = row["arguments"]
        if self.positionals < len(kinds):
            return str(kinds[self.positionals])
        return str(kinds[-1]) if kinds and row["more"] else ""


def _value(kind: str, incomplete: str, table: Table) -> AtCursor:
    if kind == "command":
        return AtCursor(incomplete, {name: table[name]["help"] for name in table[""]["commands"]})
    if kind.startswith("="):
        return AtCursor(incomplete, dict.fromkeys(kind[1:].split("|"), ""))
    return AtCursor(incomplete, value=kind)
