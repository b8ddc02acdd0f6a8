"""What is wrong with a text that should be YAML."""

from __future__ import annotations


class YamlError(ValueError):
    """The text is not YAML that we read; says why and where (line and column in the file, counted from 1)."""

    def __init__(self, message: str, line: int, column: int | None = None):
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
