"""A position in one line of Markdown, in characters and in columns. Tab stops are every four columns (CommonMark 2.2)."""

from __future__ import annotations


class Cursor:
    """The current line and how far it has been read: ``offset`` in characters, ``column`` with tabs expanded."""

    def __init__(self) -> None:
        self.line = ""
        self.offset = 0
        self.column = 0
        self.rest_of_tab = 0
        self.next = 0
        self.indent = 0
        self.blank = False

    def find(self) -> None:
        """Set ``next`` to the next character that is not whitespace, and ``indent`` to the columns before it."""
        line, offset = self.line, self.offset
        rest = line[offset:].lstrip(" \t") if offset else line.lstrip(" \t")
        self.next = position = len(line) - len(rest)
        self.blank = not rest
        if "\t" not in line:
            self.indent = position - offset
            return
        column = self.column
        for character in line[offset:position]:
            column += 1 if character == " " else 4 - column % 4
        self.indent = column - self.column

    def to_next(self) -> None:
        """Advance to ``next``."""
        self.column += self.indent
        self.offset = self.next
        self.rest_of_tab = 0

    def characters(self, count: int) -> None:
        """Advance by ``count`` characters, none of which is a tab."""
        self.offset += count
        self.column += count
        self.rest_of_tab = 0

    def columns(self, count: int) -> None:
        """Advance by up to ``count`` columns of whitespace, possibly into the middle of a tab."""
        line, length = self.line, len(self.line)
        while count > 0 and self.offset < length:
            character = line[self.offset]
            if character == " ":
                self.offset += 1
                self.column += 1
                count -= 1
            elif character == "\t":
                width = self.rest_of_tab or 4 - self.column % 4
                step = min(width, count)
                self.column += step
                count -= step
                self.rest_of_tab = width - step
                if not self.rest_of_tab:
                    self.offset += 1
            else:
                return

    def remaining(self) -> str:
        """Return the rest of the line; what remains of a tab becomes spaces."""
        if self.rest_of_tab:
            return " " * self.rest_of_tab + self.line[self.offset + 1 :]
        return self.line[self.offset :]
