"""What is at a position in a directive: an element, an attribute, a value, an id, a placeholder. Tolerates unfinished text.

It only looks at the form, in one pass up to the position: editors ask at every keystroke, when the XML is usually incomplete.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from rye.limits import CONTENT

What = Literal["element", "attribute", "value", "text", "placeholder", "capability", "none"]

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*xml\b[^\n]*\n", re.MULTILINE | re.IGNORECASE)
_PIECE = re.compile(
    r"<!--(?s:.*?)(?:-->|\Z)|<!\[CDATA\[(?s:.*?)(?:\]\]>|\Z)"
    r"|<(/?)([A-Za-z_][\w.-]*+)((?>(?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*))>"
)
_OPEN_ELEMENT = re.compile(r"</?([A-Za-z_][\w.-]*)?\Z")
_OPEN_VALUE = re.compile(r"([A-Za-z_][\w.-]*)\s*=\s*(?:\"([^\"]*)|'([^']*))\Z")
_OPEN_ATTRIBUTE = re.compile(r"\s([A-Za-z_][\w.-]*)?\Z")
_TAG_NAME = re.compile(r"<([A-Za-z_][\w.-]*)")
_ATTRIBUTES = re.compile(r"([A-Za-z_][\w.-]*)\s*=\s*(?:\"([^\"<]*)\"|'([^'<]*)')")
_PLACEHOLDER = re.compile(r"\{input:([A-Za-z0-9_]*)\Z")
_CALL = re.compile(r"rye_(execute|search|load|sign)\(([^()\n`]*)\Z")
_CAPABILITY = re.compile(r"(?<![\w.])rye\.[A-Za-z0-9_.*?\[\]!-]*\Z")
_INPUT = re.compile(r"<input\b((?>(?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*))/?>")
_STEP_END = "</step>"
_IN_LINE = 400
"""How many characters of the line before the position are searched."""
_IN_TAG = 4096
"""How many characters of an open tag before the position are searched."""


class Cursor(Struct, frozen=True, kw_only=True):
    """What is at a position, possibly unfinished."""

    what: What
    begun: str = ""
    """The part of it before the position."""
    start: int = 0
    """The offset at which it starts."""
    path: tuple[str, ...] = ()
    """The open elements around it, root first."""
    element: str = ""
    """The element whose tag is open, for attributes and values."""
    attribute: str = ""
    given: tuple[tuple[str, str], ...] = ()
    """The attributes that the open tag, or the call, already has."""
    fence: bool = False
    """Whether the position is in the directive's XML fence."""


def fence_of(text: str) -> tuple[int, int] | None:
    """Return start and end of the first XML fence's content; an unclosed fence extends to the end of the text."""
    opener = _FENCE.search(text)
    if opener is None:
        return None
    closer = re.compile(rf"^ {{0,3}}{re.escape(opener[1][0])}{{{len(opener[1])},}}[ \t]*$", re.MULTILINE)
    closed = closer.search(text, opener.end())
    return opener.end(), closed.start() if closed is not None else len(text)


def cursor_at(text: str, offset: int) -> Cursor:
    """Return what is at an offset of a directive's text."""
    line = text[max(text.rfind("\n", 0, offset) + 1, offset - _IN_LINE) : offset]
    placeholder = _PLACEHOLDER.search(line)
    if placeholder is not None:
        return Cursor(what="placeholder", begun=placeholder[1], start=offset - len(placeholder[1]))
    fence = fence_of(text)
    if fence is None or offset < fence[0]:
        return Cursor(what="none", start=offset)
    inside = offset <= fence[1]
    if not inside:
        call = _CALL.search(line)
        if call is not None:
            return _in_call(call[1], call[2], offset)
    region = fence[0] if inside else text.find("\n", fence[1]) + 1 or len(text)
    stack: tuple[str, ...] = ()
    step = -1 if inside else text.rfind(_STEP_END, region, offset)
    if step >= 0:  # steps do not nest, so nothing before the last closed step matters
        region, stack = step + len(_STEP_END), ("process",)
    path, position = _open_elements(text, region, offset, stack)
    if position > offset:
        return Cursor(what="none", start=offset)
    rest = text[position:offset]
    opened = rest.rfind("<")
    if len(rest) - opened > _IN_TAG and opened >= 0:
        return Cursor(what="none", start=offset)
    if opened < 0 or ">" in rest[opened:]:
        capability = _CAPABILITY.search(line)
        if capability is not None:
            return Cursor(
                what="capability", begun=capability[0], start=offset - len(capability[0]), path=path, fence=inside
            )
        begun = rest[rest.rfind(">") + 1 :].lstrip()
        if len(begun) > _IN_LINE:
            begun = ""
        return Cursor(what="text", begun=begun, start=offset - len(begun), path=path, fence=inside)
    return _in_tag(rest[opened:], offset, path, inside)


def _in_tag(written: str, offset: int, path: tuple[str, ...], inside: bool) -> Cursor:
    element = _OPEN_ELEMENT.fullmatch(written)
    if element is not None:
        begun = element[1] or ""
        return Cursor(
            what="element",
            begun=begun,
            start=offset - len(begun),
            path=path,
            element="/" if written[1:2] == "/" else "",
            fence=inside,
        )
    name = _TAG_NAME.match(written)
    if name is None:
        return Cursor(what="none", start=offset)
    given = tuple((key, first or second) for key, first, second in _ATTRIBUTES.findall(written))
    around = (*path, name[1])
    value = _OPEN_VALUE.search(written)
    if value is not None:
        begun = value[2] if value[2] is not None else value[3]
        return Cursor(
            what="value",
            begun=begun,
            start=offset - len(begun),
            path=around,
            element=name[1],
            attribute=value[1],
            given=given,
            fence=inside,
        )
    attribute = _OPEN_ATTRIBUTE.search(written)
    if attribute is None:
        return Cursor(what="none", start=offset)
    begun = attribute[1] or ""
    return Cursor(
        what="attribute",
        begun=begun,
        start=offset - len(begun),
        path=around,
        element=name[1],
        attribute="",
        given=given,
        fence=inside,
    )


def _in_call(primary: str, written: str, offset: int) -> Cursor:
    """Return what is at an offset in a call such as ``rye_execute(item_type="tool", item_id="…``."""
    given = tuple((key, first or second) for key, first, second in _ATTRIBUTES.findall(written))
    value = _OPEN_VALUE.search(written)
    if value is None:
        begun = re.search(r"[a-z_]*\Z", written)
        word = begun[0] if begun is not None else ""
        return Cursor(
            what="attribute",
            begun=word,
            start=offset - len(word),
            path=("step", primary),
            element=primary,
            attribute="",
            given=given,
        )
    text = value[2] if value[2] is not None else value[3]
    return Cursor(
        what="value",
        begun=text,
        start=offset - len(text),
        path=("step", primary),
        element=primary,
        attribute=value[1],
        given=given,
    )


def _open_elements(text: str, start: int, end: int, around: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
    """Return the elements that are open at ``end``, and the offset after the last complete piece. That offset is beyond
    ``end`` in a comment, and if elements are nested too deeply."""
    stack = list(around)
    position = start
    for piece in _PIECE.finditer(text, start, end):
        position = piece.end()
        name = piece[2]
        if name is None:
            if position == end and not piece[0].endswith(("-->", "]]>")):
                return (), end + 1
            continue
        if piece[1]:
            if name in stack:
                while stack.pop() != name:
                    pass
        elif not piece[3].endswith("/"):
            if len(stack) == CONTENT.xml_depth:
                return (), end + 1
            stack.append(name)
    return tuple(stack), position


def inputs_of(text: str) -> dict[str, str]:
    """Return the inputs that the fence declares, with their types, even if the directive has errors."""
    fence = fence_of(text)
    if fence is None:
        return {}
    inputs: dict[str, str] = {}
    for declared in _INPUT.finditer(text, *fence):
        given = {key: first or second for key, first, second in _ATTRIBUTES.findall(declared[1])}
        if given.get("name"):
            inputs.setdefault(given["name"], given.get("type", ""))
    return inputs


_ID = re.compile(r"(?:[a-z]+:)?[a-z0-9][a-z0-9_-]*(?:/[a-z0-9][a-z0-9_-]*)+")
_WHOLE_CAPABILITY = re.compile(r"rye\.[A-Za-z0-9_.*?\[\]!-]+")


class Word(Struct, frozen=True):
    """An id or a capability in a text."""

    text: str
    start: int
    end: int
    is_capability: bool


def word_at(text: str, offset: int) -> Word | None:
    """Return the id or capability at an offset; None if there is none."""
    first = text.rfind("\n", 0, offset) + 1
    last = text.find("\n", offset)
    last = len(text) if last < 0 else last
    first, last = max(first, offset - _IN_LINE), min(last, offset + _IN_LINE)
    for pattern, is_capability in ((_WHOLE_CAPABILITY, True), (_ID, False)):
        for found in pattern.finditer(text, first, last):
            if found.start() <= offset <= found.end():
                return Word(found[0].rstrip("."), found.start(), found.end(), is_capability)
    return None
