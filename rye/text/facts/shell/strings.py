"""Which lines of a script begin inside a string: ``perl -ne '`` in one line, and ``' "$file"`` some lines below.

The rules read a script line by line. What a line begins with is a command, unless a string of several lines is still open there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_HEREDOC: Final = re.compile(r"<<-?[ \t]*(?:\\?([A-Za-z_]\w{0,40})|'([^'\n]{1,40})'|\"([^\"\n]{1,40})\")")
_COMMENT: Final = re.compile(r"(?:^|(?<=[\s;&|(]))#[^\n]*")
#: A command that runs the string behind it.
_RUNS_STRING: Final = re.compile(r"(?:^|[\s;&|(\"'/])(?:eval|trap|ssh|su|watch|source|\w{0,12}sh)[\s\"']")
_MARKS: Final = re.compile(r"\\.|\$?['\"]|\$\(|[()#]|<<-?(?!<)")


class OpenString(NamedTuple):
    """The line (from 0) that opens the string in which a line begins, and what stands before the string there."""

    line: int
    before: str

    def is_argument(self, line: str) -> bool:
        """Whether what stands first in a line that begins inside the string is what a command is given, so that it is no command:
        ``' "$file"`` behind ``perl -ne '``, and the second line of ``x="$a`` and ``$b"``. A string that something runs does begin
        with commands, and so does what stands behind a value (``x='`` and ``' command``)."""
        line = line.lstrip()
        if line.startswith(("'", '"')):
            return line[1:2] in ("", *" \t<>|&;)") and not self.before.endswith(("=", "=$"))
        return _RUNS_STRING.search(self.before) is None


def open_strings(lines: Sequence[str]) -> dict[int, OpenString]:
    """The lines (from 0) of a script that begin inside a string. A substitution in a string is a script of its own."""
    inside: dict[int, OpenString] = {}
    stack: list[str] = []
    opened = OpenString(0, "")
    until = ""
    for number, line in enumerate(lines):
        if until:
            until = "" if line.strip() == until else until
            continue
        if stack and stack[-1] != "(":
            inside[number] = opened
        at = 0
        while (match := _MARKS.search(line, at)) is not None:
            mark, at = match[0], match.end()
            top = stack[-1] if stack else ""
            if top == "'":
                closes = line.find("'", match.start())
                if closes < 0:
                    break
                stack.pop()
                at = closes + 1
            elif mark[0] == "\\":
                continue
            elif mark in ('"', '$"'):
                if top == '"':
                    stack.pop()
                else:
                    stack.append('"')
                    opened = OpenString(number, line[: match.start()])
            elif mark == "$(" and top:
                stack.append("(")
            elif top == '"':
                continue
            elif mark in ("'", "$'"):
                stack.append("'")
                opened = OpenString(number, line[: match.start()])
            elif mark in ("(", "$(") and top == "(":
                stack.append("(")
            elif mark == ")" and top == "(":
                stack.pop()
            elif mark == "#" and _COMMENT.match(line, match.start()) is not None:
                break
            elif mark.startswith("<<"):
                heredoc = _HEREDOC.match(line, match.start())
                until = next(filter(None, heredoc.groups())) if heredoc is not None else until
    return inside
