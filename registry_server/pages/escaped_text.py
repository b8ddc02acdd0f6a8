"""Untrusted text as HTML: escaped, with every hidden character made visible.

:mod:`rye.text.content` defines which characters are hidden: those that people do not see, or see in the wrong place.
Each is shown as its code point in a box, with its name. The character itself never reaches the browser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from html import escape

from markupsafe import Markup

from rye.text.content import describe, hidden_characters


def marked(text: str) -> Markup:
    """Return the text as HTML."""
    if text.isascii():  # what is hidden does not depend on the characters around it
        return Markup(escape(text).translate(_controls()))
    return Markup("".join(part for _, part in _parts(text)))


def marked_within(text: str, most: int) -> tuple[Markup, int]:
    """Return as much of the text as fits into ``most`` characters of HTML, and how many characters of the text that
    is."""
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


def divided(text: str, most: int) -> Iterator[str]:
    """Yield the text in pieces, each as long as fits into about ``most`` characters of HTML."""
    start = at = 0
    room = most
    for length, part in _parts(text):
        step = length if len(part) <= most else max(most // _LONGEST_ESCAPE, 1)
        cost = len(part) * step // length + 1
        for begin in range(at, at + length, step):
            if cost > room and begin > start:
                yield text[start:begin]
                start, room = begin, most
            room -= cost
        at += length
    if start < len(text):
        yield text[start:]


_LONGEST_ESCAPE = len("&quot;")


def shown(text: str, most: int) -> Markup:
    """Return at most ``most`` characters of the text on one line, and say how many more follow."""
    cut = text[:most].replace("\n", "⏎ ").replace("\t", " ")
    rest = len(text) - most
    return Markup(f"{marked(cut)}{f'… ({rest:,} more characters)' if rest > 0 else ''}")


def parted(text: str, most: int) -> Markup:
    """Like :func:`shown`, for an id or a right: narrow screens can wrap it after a separator, and copying it copies no
    break."""
    pieces = _JOINTS.split(text[:most])
    if not 1 < len(pieces) <= _PIECES:
        return shown(text, most)
    before = pieces[:-1]
    length = sum(map(len, before))
    return Markup("<wbr>").join([*(shown(piece, most) for piece in before), shown(text[length:], most - length)])


_JOINTS = re.compile(r"(?<=[/._:])(?=[^/._:\s])")
_PIECES = 40
"""A list of rights has as many parts; more would only enlarge the page."""


def plain(text: str, most: int) -> str:
    """Return one line of plain text for an attribute or a title. Hidden characters become ``[U+202E]``."""
    text = _without_surrogates(text[:most]) + ("…" if len(text) > most else "")
    for at in reversed(hidden_characters(text)):
        text = f"{text[:at]}[{describe(text[at]).partition(' ')[0]}]{text[at + 1 :]}"
    return " ".join(text.split())


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the text in pieces: number of characters and HTML. Each hidden character is a separate piece."""
    text = _without_surrogates(text)
    start = 0
    for at in _boxed(text):
        if at > start:
            yield at - start, escape(text[start:at])
        yield 1, _box(text[at])
        start = at + 1
    if start < len(text):
        yield len(text) - start, escape(text[start:])


@cache
def _controls() -> Mapping[int, str]:
    return {code: _box(chr(code)) for code in range(0x80) if hidden_characters(chr(code))}


def _boxed(text: str) -> Sequence[int]:
    """Return where characters are shown as boxes: hidden ones, and marks on top of more marks than any script has, which would
    cover the lines around them."""
    hidden = hidden_characters(text)
    stacked = [at for run in _STACK.finditer(text) for at in range(run.start() + _MARKS, run.end())]
    return sorted({*hidden, *stacked}) if stacked else hidden


_MARKS = 4
_STACK = re.compile(
    rf"[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{{{_MARKS + 1},}}"
)


def _without_surrogates(text: str) -> str:
    """Replace each lone surrogate, which UTF-8 cannot encode, with a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


@lru_cache(maxsize=1024)
def _box(character: str) -> str:
    name = describe(character)
    return f'<span class="hidden" title="{escape(name)}">{name.partition(" ")[0]}</span>'
