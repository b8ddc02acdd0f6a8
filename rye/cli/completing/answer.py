"""The answer to a shell that asks what can complete the word at the cursor (``_RYE_COMPLETE=bash_complete rye``).

The shell passes the line in ``COMP_WORDS`` and, as click's scripts do, the number of the word at the cursor in
``COMP_CWORD``; without a number, the line ends at the cursor. The answer has one line ``TYPE,VALUE`` for each candidate
(bash), three lines TYPE, VALUE and HELP (zsh), or one line ``TYPE,VALUE<TAB>HELP`` (fish). TYPE is ``plain``, or ``file`` or
``dir`` where the shell should offer those itself.
The commands are in a stored table, which :mod:`rye.cli.completing.table` writes.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

from rye.cli.completing.command_line import at_cursor, typed
from rye.workspace.completion.names import names, takes_files


@cache
def stored_table() -> dict[str, Any]:
    """The rows of all commands, keyed by their words."""
    with open(os.path.join(os.path.dirname(__file__), "commands.json"), encoding="utf-8") as stream:
        loaded: dict[str, Any] = json.load(stream)
    return loaded


SHELLS = ("bash", "zsh", "fish")


def candidates(environment: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """The candidates for the word at the cursor: type, value and help of each."""
    number = environment.get("COMP_CWORD", "")
    words, incomplete = typed(environment.get("COMP_WORDS", ""), int(number) if number.isdecimal() else None)
    asked = at_cursor(stored_table(), words, incomplete)
    begun = asked.incomplete
    found = [("plain", word, line) for word, line in asked.words.items() if word.startswith(begun)]
    if asked.value and "@" not in begun:
        found += [
            ("plain", name, "")
            for name in names(asked.value, os.path.expanduser(asked.folder or "."), environment, begun)
        ]
    shells_own = takes_files(asked.value)
    if shells_own:
        found.append((shells_own, begun, ""))
    return found


def formatted(shell: str, found: list[tuple[str, str, str]]) -> str:
    """The lines that the shell's script reads."""
    if shell == "zsh":
        return "".join(f"{kind}\n{value}\n{line or '_'}\n" for kind, value, line in found)
    if shell == "fish":
        return "".join(f"{kind},{value}\t{line}\n" if line else f"{kind},{value}\n" for kind, value, line in found)
    return "".join(f"{kind},{value}\n" for kind, value, _ in found)


def answer(instruction: str, environment: Mapping[str, str]) -> int:
    """Answer the instruction ``SHELL_complete`` and return the exit code: 1 for a shell that rye has no script for."""
    shell, _, what = instruction.partition("_")
    if shell not in SHELLS or what != "complete":
        return 1
    sys.stdout.buffer.write(formatted(shell, candidates(environment)).encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
    return 0
