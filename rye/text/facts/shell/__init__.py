"""Shell commands as the rules read them: ``words`` removes disguises, ``names`` resolves names, ``commands`` finds pipelines, and
``strings`` tells which lines begin inside a string.

It covers enough of every shell's language (sh, bash, zsh, PowerShell, cmd), but no shell's full grammar. Nothing here raises, and
everything is linear in the length of its input.
"""

from rye.text.facts.shell.commands import Command, Group, Word, head, pieces, program, read, walk
from rye.text.facts.shell.names import Names, commands_in, used_values_in, values_in
from rye.text.facts.shell.strings import OpenString, open_strings
from rye.text.facts.shell.words import BREAK, plain, shown, unmask

__all__ = [
    "BREAK",
    "Command",
    "Group",
    "Names",
    "OpenString",
    "Word",
    "commands_in",
    "head",
    "open_strings",
    "pieces",
    "plain",
    "program",
    "read",
    "shown",
    "unmask",
    "used_values_in",
    "values_in",
    "walk",
]
