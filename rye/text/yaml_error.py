"""The error for text that should be YAML."""

from __future__ import annotations

from rye.text.lazy import lazy_pattern

_KEY = lazy_pattern(r"\s*(?:- +)*([\w.-]+):[ \t]+(?=[^\s\"'|>\[{])")
"""A key, before a value that is plain text."""
_SHOWN_CHARACTERS = 300
"""The longest value that a hint repeats."""


class YamlError(ValueError):
    """The text is not acceptable YAML; gives the reason, the position in the file (counted from 1) and, if one way to write it is
    likely meant, a hint."""

    def __init__(self, message: str, line: int, column: int | None = None, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.hint = hint


def quoted_form(message: str, line: str) -> str | None:
    """The hint for a line whose value needs quotes, with the line written so; None for any other mistake.

    ``message``: the scanner's. ``line``: the line that it names, e.g. ``description: Use this: when pdf``.
    """
    found = _KEY.match(line)
    if found is None:
        return None
    value = line[found.end() :].partition(" #")[0].strip()
    has_colon = ": " in value or value.endswith(":")
    if not (has_colon if "mapping values are not allowed" in message else "cannot start any token" in message):
        return None
    if len(value) > _SHOWN_CHARACTERS:
        return f"Put the value of {found[1]} in quotes."
    quoted = f'"{value}"' if not {'"', "\\"} & set(value) else "'" + value.replace("'", "''") + "'"
    return f"Put the value in quotes: {found[1]}: {quoted}"
