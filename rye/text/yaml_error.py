"""The error for text that should be YAML."""

from __future__ import annotations


class YamlError(ValueError):
    """The text is not acceptable YAML; gives the reason and the position in the file (counted from 1)."""

    def __init__(self, message: str, line: int, column: int | None = None):
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
