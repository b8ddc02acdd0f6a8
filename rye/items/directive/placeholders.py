"""Input placeholders in the text of a directive (DECISIONS Directives 8).

======================== =========================================================
``{input:name}``         a value is required
``{input:name?}``        empty when there is no value
``{input:name:default}`` the default when there is no value
``{input:name|default}`` the same
======================== =========================================================

A name is ``[A-Za-z_][A-Za-z0-9_]*``. A default runs to the first closing brace, may hold ``:`` and ``|`` and may be empty.
Whatever else looks similar is text. One pass: what stands inside a placeholder, or comes in with a value, is never read again.
"""

from __future__ import annotations

from msgspec import Struct

from rye.text.lazy_pattern import lazy_pattern

INPUT_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_OPENER = lazy_pattern(r"\{input:([A-Za-z_][A-Za-z0-9_]*)(\}|\?\}|[:|])")


class Placeholder(Struct, frozen=True):
    """One placeholder: ``text[start:end]`` with offsets in characters, from 0."""

    start: int
    end: int
    name: str
    optional: bool
    """Whether it stands for the empty string when there is no value (``{input:name?}``)."""
    default: str | None
    """What it stands for when there is no value; None in the two forms without a default."""

    @property
    def required(self) -> bool:
        """Whether a missing value is an error."""
        return not self.optional and self.default is None


def is_input_name(text: str) -> bool:
    """Whether an input of this name can be used in a placeholder."""
    return INPUT_NAME.fullmatch(text) is not None


def find(text: str) -> list[Placeholder]:
    """All placeholders of ``text`` in order, without overlaps. Linear in the length of the text."""
    found: list[Placeholder] = []
    position = 0
    while (opener := _OPENER.search(text, position)) is not None:
        name, form = opener.group(1), opener.group(2)
        position = opener.end()
        default = None
        if form in ":|":
            close = text.find("}", position)
            if close < 0:
                break  # no brace closes this default, nor any after it
            default, position = text[position:close], close + 1
        found.append(Placeholder(opener.start(), position, name, form == "?}", default))
    return found
