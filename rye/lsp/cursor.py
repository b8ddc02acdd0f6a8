"""What is at a place of a directive: an element, an attribute, a value, an id, a placeholder. Tolerant of unfinished text.

Only the form is looked at, in one pass up to the place: an editor asks at every key, and most of the time the XML is not whole.
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
"""Characters before the place that a line's form is looked for in."""
_IN_TAG = 4096
"""Characters of an open tag before the place."""


class Cursor(Struct, frozen=True):
    """What stands at a place, or is begun there."""

    what: What
    begun: str = ""
    """What is there of it, up to the place."""
    start: int = 0
    """The offset at which it begins."""
    path: tuple[str, ...] = ()
    """The open elements around it, the root first."""
    element: str = ""
    """The element whose tag is open, for attributes and values."""
    attribute: str = ""
    given: tuple[tuple[str, str], ...] = ()
    """The attributes of the open tag, or of the call, that are there already."""
    fence: bool = False
    """Whether the place is in the directive's fence."""


def fence_of(text: str) -> tuple[int, int] | None:
    """Where the content of the first XML fence begins and ends; an open fence goes to the text's end."""
    opener = _FENCE.search(text)
    if opener is None:
        return None
    closer = re.compile(rf"^ {{0,3}}{re.escape(opener[1][0])}{{{len(opener[1])},}}[ \t]*$", re.MULTILINE)
    closed = closer.search(text, opener.end())
    return opener.end(), closed.start() if closed is not None else len(text)


def cursor_at(text: str, offset: int) -> Cursor:
    """What is at an offset of a directive's text."""
    line = text[max(text.rfind("\n", 0, offset) + 1, offset - _IN_LINE) : offset]
    placeholder = _PLACEHOLDER.search(line)
    if placeholder is not None:
        return Cursor("placeholder", placeholder[1], offset - len(placeholder[1]))
    fence = fence_of(text)
    if fence is None or offset < fence[0]:
        return Cursor("none", start=offset)
    inside = offset <= fence[1]
    if not inside:
        call = _CALL.search(line)
        if call is not None:
            return _in_call(call[1], call[2], offset)
    region = fence[0] if inside else text.find("\n", fence[1]) + 1 or len(text)
    stack: tuple[str, ...] = ()
    step = -1 if inside else text.rfind(_STEP_END, region, offset)
    if step >= 0:  # steps do not nest, so what is before the last one that ended needs no look
        region, stack = step + len(_STEP_END), ("process",)
    path, position = _open_elements(text, region, offset, stack)
    if position > offset:
        return Cursor("none", start=offset)
    rest = text[position:offset]
    opened = rest.rfind("<")
    if len(rest) - opened > _IN_TAG and opened >= 0:
        return Cursor("none", start=offset)
    if opened < 0 or ">" in rest[opened:]:
        capability = _CAPABILITY.search(line)
        if capability is not None:
            return Cursor("capability", capability[0], offset - len(capability[0]), path, fence=inside)
        begun = rest[rest.rfind(">") + 1 :].lstrip()
        if len(begun) > _IN_LINE:
            begun = ""
        return Cursor("text", begun, offset - len(begun), path, fence=inside)
    return _in_tag(rest[opened:], offset, path, inside)


def _in_tag(written: str, offset: int, path: tuple[str, ...], inside: bool) -> Cursor:
    element = _OPEN_ELEMENT.fullmatch(written)
    if element is not None:
        begun = element[1] or ""
        return Cursor("element", begun, offset - len(begun), path, "/" if written[1:2] == "/" else "", fence=inside)
    name = _TAG_NAME.match(written)
    if name is None:
        return Cursor("none", start=offset)
    given = tuple((key, first or second) for key, first, second in _ATTRIBUTES.findall(written))
    around = (*path, name[1])
    value = _OPEN_VALUE.search(written)
    if value is not None:
        begun = value[2] if value[2] is not None else value[3]
        return Cursor("value", begun, offset - len(begun), around, name[1], value[1], given, inside)
    attribute = _OPEN_ATTRIBUTE.search(written)
    if attribute is None:
        return Cursor("none", start=offset)
    begun = attribute[1] or ""
    return Cursor("attribute", begun, offset - len(begun), around, name[1], "", given, inside)


def _in_call(primary: str, written: str, offset: int) -> Cursor:
    """In ``rye_execute(item_type="tool", item_id="…``."""
    given = tuple((key, first or second) for key, first, second in _ATTRIBUTES.findall(written))
    value = _OPEN_VALUE.search(written)
    if value is None:
        begun = re.search(r"[a-z_]*\Z", written)
        word = begun[0] if begun is not None else ""
        return Cursor("attribute", word, offset - len(word), ("step", primary), primary, "", given)
    text = value[2] if value[2] is not None else value[3]
    return Cursor("value", text, offset - len(text), ("step", primary), primary, value[1], given)


def _open_elements(text: str, start: int, end: int, around: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
    """The elements that are open at ``end``, and the offset behind the last whole piece; an offset behind ``end`` in a comment
    and in elements nested too deeply."""
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
    """The inputs that the fence declares, each with its type, whatever else is wrong with it."""
    fence = fence_of(text)
    if fence is None:
        return {}
    found: dict[str, str] = {}
    for declared in _INPUT.finditer(text, *fence):
        given = {key: first or second for key, first, second in _ATTRIBUTES.findall(declared[1])}
        if given.get("name"):
            found.setdefault(given["name"], given.get("type", ""))
    return found


_ID = re.compile(r"(?:[a-z]+:)?[a-z0-9][a-z0-9_-]*(?:/[a-z0-9][a-z0-9_-]*)+")
_WHOLE_CAPABILITY = re.compile(r"rye\.[A-Za-z0-9_.*?\[\]!-]+")


class Word(Struct, frozen=True):
    """A word that means something by itself."""

    text: str
    start: int
    end: int
    is_capability: bool


def word_at(text: str, offset: int) -> Word | None:
    """The id or the capability string that an offset is in."""
    first = text.rfind("\n", 0, offset) + 1
    last = text.find("\n", offset)
    last = len(text) if last < 0 else last
    first, last = max(first, offset - _IN_LINE), min(last, offset + _IN_LINE)
    for pattern, is_capability in ((_WHOLE_CAPABILITY, True), (_ID, False)):
        for found in pattern.finditer(text, first, last):
            if found.start() <= offset <= found.end():
                return Word(found[0].rstrip("."), found.start(), found.end(), is_capability)
    return None
