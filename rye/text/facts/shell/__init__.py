"""Shell as the rules read it: ``words`` takes disguises off, ``names`` keeps what names stand for, ``commands`` finds pipelines.

Enough of every shell's language (sh, bash, zsh, PowerShell, cmd), the grammar of none. Nothing here raises, and nothing
costs more than the length of what it is given.
"""

from rye.text.facts.shell.commands import Command, Group, Word, head, pieces, program, read, walk
from rye.text.facts.shell.names import Names, commands_in, used_values_in, values_in
from rye.text.facts.shell.words import BREAK, plain, shown, unmask

__all__ = [
    "BREAK",
    "Command",
    "Group",
    "Names",
    "Word",
    "commands_in",
    "head",
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
