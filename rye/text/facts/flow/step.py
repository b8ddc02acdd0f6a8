"""One command of a pass: where it stands, and what its substitutions put out."""

from __future__ import annotations

from typing import NamedTuple

from rye.text.facts import shell
from rye.text.facts.flow.kept import KeptContent
from rye.text.facts.source import Line, Origin, Source

Outputs = dict[int, "Origin | None"]
"""What commands of a line put out that is foreign, by the identity of the command."""


class FlowStep(NamedTuple):
    """One command where it stands, with what is known by then."""

    source: Source
    kept: KeptContent
    line: Line
    command: shell.Command
    group: shell.Group
    outputs: Outputs
    """Those of the commands before it, and of its substitutions."""
    first: int
    """The index of the word that the command runs; -1 if none."""
    program: str
    """What that word names; empty if none."""

    @property
    def text(self) -> str:
        """The command as it stands in its line."""
        return self.line.text[self.command.words[0].start : self.command.end]

    @property
    def raw(self) -> str:
        """The first line of the file that the command's logical line has."""
        return self.source.lines[self.line.first]

    def printed_in(self, word: shell.Word) -> Origin | None:
        """The foreign output of a word's substitutions."""
        return child_origin(word, self.outputs) if word.children else None

    def place(self, word: str) -> tuple[int, int]:
        """The file's line and column, both from 0, of a word where the command begins."""
        return self.source.place(self.line, self.command.words[0].start, word)


def child_origin(word: shell.Word, outputs: Outputs) -> Origin | None:
    """The foreign output of a word's substitutions, at any depth."""
    pending = list(word.children)
    while pending:
        for command in pending.pop().commands:
            origin = outputs.get(id(command))
            if origin is not None:
                return origin
            for inner in command.words:
                pending.extend(inner.children)
    return None
