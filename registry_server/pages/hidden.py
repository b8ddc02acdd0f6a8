"""Text of strangers as HTML: escaped, and with every character that readers do not see, or see elsewhere, in plain sight.

Which characters these are, :mod:`rye.text.content` alone says. Each is shown as its code point in a box, with its name: the
character itself never reaches the browser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from markupsafe import Markup

from rye.text.content import describe, hidden_characters


def marked(text: str) -> Markup:
    """The text as HTML."""
    if text.isascii() and not hidden_characters(text):
        return Markup(escape(text))
    return Markup("".join(part for _, part in _parts(text)))


def marked_within(text: str, most: int) -> tuple[Markup, int]:
    """As much of the text as fits into ``most`` characters of HTML, and how many characters of the text that is."""
    written: list[str] = []
    room, taken = most, 0
    for length, part in _parts(text):
        if len(part) > room:
            if length > 1:  # plain text: its beginning still fits
                for character in text[taken : taken + length]:
                    safe = escape(character)
                    if len(safe) > room:
                        break
                    written.append(safe)
                    room -= len(safe)
                    taken += 1
            break
        written.append(part)
        room -= len(part)
        taken += length
    return Markup("".join(written)), taken


def shown(text: str, most: int) -> Markup:
    """A word or a line: at most ``most`` characters of the text on one line, and a mark where more follows."""
    cut = text[:most].replace("\n", "⏎ ").replace("\t", " ")
    rest = len(text) - most
    return Markup(f"{marked(cut)}{f'… ({rest:,} more characters)' if rest > 0 else ''}")


def parted(text: str, most: int) -> Markup:
    """As :func:`shown`, of an id or a right: a narrow screen may break it behind its marks, and copying it gives it whole."""
    pieces = _JOINTS.split(text[:most])
    if not 1 < len(pieces) <= _PIECES:
        return shown(text, most)
    before = pieces[:-1]
    length = sum(map(len, before))
    return Markup("<wbr>").join([*(shown(piece, most) for piece in before), shown(text[length:], most - length)])


_JOINTS = re.compile(r"(?<=[/._:])(?=[^/._:\s])")
_PIECES = 12
"""More would not be an id, and only make the page larger."""


def plain(text: str, most: int) -> str:
    """One line of plain text for an attribute or a title: hidden characters as ``[U+202E]``."""
    text = _without_surrogates(text[:most]) + ("…" if len(text) > most else "")
    for at in reversed(hidden_characters(text)):
        text = f"{text[:at]}[{describe(text[at]).partition(' ')[0]}]{text[at + 1 :]}"
    return " ".join(text.split())


def count_hidden(text: str) -> int:
    """How many such characters a text has."""
    return len(hidden_characters(text))


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """The text piece by piece: how many characters, and their HTML. A hidden character is a piece of its own."""
    text = _without_surrogates(text)
    start = 0
    for at in hidden_characters(text):
        if at > start:
            yield at - start, escape(text[start:at])
        yield 1, _box(text[at])
        start = at + 1
    if start < len(text):
        yield len(text) - start, escape(text[start:])


def _without_surrogates(text: str) -> str:
    """What UTF-8 can carry, with a question mark for each lone surrogate."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _box(character: str) -> str:
    name = describe(character)
    return f'<span class="hidden" title="{escape(name)}">{name.partition(" ")[0]}</span>'
