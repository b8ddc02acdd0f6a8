"""Input placeholders in the text of a directive (DECISIONS Directives 8).

======================== =========================================================
``{input:name}``         a value is required
``{input:name?}``        empty when there is no value
``{input:name:default}`` the default when there is no value
``{input:name|default}`` the same
======================== =========================================================

A name is ``[A-Za-z_][A-Za-z0-9_]*``. A default runs to the first closing brace, can contain ``:`` and ``|``, and can be empty.
Anything else that looks similar is text. There is one pass: the inside of a placeholder and inserted values are never expanded.
"""

from __future__ import annotations

from msgspec import Struct

from rye.text.lazy import lazy_pattern

INPUT_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_OPENER = lazy_pattern(r"\{input:([A-Za-z_][A-Za-z0-9_]*)(\}|\?\}|[:|])")


class Placeholder(Struct, frozen=True):
    """One placeholder: ``text[start:end]``, with offsets in characters from 0."""

    start: int
    end: int
    name: str
    optional: bool
    """Whether it becomes the empty string if there is no value (``{input:name?}``)."""
    default: str | None
    """The text to use if there is no value; None in the two forms without a default."""

    @property
    def required(self) -> bool:
        """Whether a missing value is an error."""
        return not self.optional and self.default is None


def is_input_name(text: str) -> bool:
    """Whether a placeholder can name this input."""
    return INPUT_NAME.fullmatch(text) is not None


def find(text: str) -> list[Placeholder]:
    """Return all placeholders of ``text`` in order, without overlaps. Linear in the length of the text."""
    placeholders: list[Placeholder] = []
    position = 0
    while (opener := _OPENER.search(text, position)) is not None:
        name, form = opener.group(1), opener.group(2)
        position = opener.end()
        default = None
        if form in ":|":
            close = text.find("}", position)
            if close < 0:
                break  # no closing brace is left for this or any later default
            default, position = text[position:close], close + 1
        placeholders.append(Placeholder(opener.start(), position, name, form == "?}", default))
    return placeholders
