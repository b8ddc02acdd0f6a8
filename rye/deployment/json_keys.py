"""Adds and removes one key in another program's JSON file, with or without comments (JSONC). All other bytes stay. Pure.

The key is added at the end of its object, because in some programs the last matching pattern wins. Removing it
restores the previous bytes exactly, whatever the object looked like: empty, on one line, with comments, with a
trailing comma.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import Struct

from rye.limits import DEPLOY


class NotReadable(Exception):
    """The file cannot be changed safely; the text says why, as the end of a sentence."""


class _Member(Struct):
    key: str
    lead: int
    """The end of the last token or comment before it."""
    start: int
    value: _Value
    comma: int | None = None
    """The position of the comma after it."""


class _Value(Struct):
    start: int
    end: int = 0
    members: list[_Member] | None = None
    """None: it is not an object."""
    last: int = 0
    """For an object: the end of the last token or comment before its closing brace."""

    def member(self, key: str) -> _Member | None:
        return next((one for one in self.members or () if one.key == key), None)


class _MemberReader:
    """Finds the positions of an object's members. Strict except for comments and trailing commas."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 1 if text.startswith("\ufeff") else 0
        self.last = self.position

    def document(self) -> _Value:
        self.skip()
        value = self.value(0)
        if value.members is None:
            raise NotReadable("it is not a JSON object")
        self.skip()
        if self.position != len(self.text):
            raise NotReadable(f"line {self.line()} has text after the end of the object")
        return value

    def skip(self) -> None:
        """Move to the next token, and note where the last comment ends."""
        text = self.text
        while self.position < len(text):
            if text[self.position] in " \t\r\n":
                self.position += 1
            elif text.startswith("//", self.position):
                end = text.find("\n", self.position)
                end = len(text) if end < 0 else end
                self.last = end - 1 if text[end - 1 : end] == "\r" else end
                self.position = end
            elif text.startswith("/*", self.position):
                end = text.find("*/", self.position + 2)
                if end < 0:
                    raise NotReadable("a comment is not closed")
                self.position = self.last = end + 2
            else:
                return

    def value(self, depth: int) -> _Value:
        if depth > DEPLOY.depth:
            raise NotReadable("it is nested too deeply")
        start = self.position
        character = self.text[start : start + 1]
        if character == "{":
            return self.object(depth)
        if character == "[":
            self.take("[")
            self.skip()
            while not self.text.startswith("]", self.position):
                self.value(depth + 1)
                self.skip()
                if self.text.startswith(",", self.position):
                    self.take(",")
                    self.skip()
                elif not self.text.startswith("]", self.position):
                    raise self.wrong()
            self.take("]")
        elif character == '"':
            self.string()
        else:
            end = start
            while end < len(self.text) and (self.text[end].isalnum() or self.text[end] in "+-."):
                end += 1
            try:
                json.loads(self.text[start:end])
            except ValueError:
                raise self.wrong() from None
            self.position = self.last = end
        return _Value(start, self.position)

    def object(self, depth: int) -> _Value:
        found = _Value(self.position, members=[])
        assert found.members is not None
        self.take("{")
        while True:
            lead = self.position
            self.skip()
            lead = max(lead, self.last)
            if self.text.startswith("}", self.position):
                found.last = lead
                self.take("}")
                found.end = self.position
                return found
            start = self.position
            key = self.string()
            self.skip()
            self.take(":")
            self.skip()
            member = _Member(key, lead, start, self.value(depth + 1))
            if found.member(key) is not None:
                raise NotReadable(f"duplicate key {key!r}")
            found.members.append(member)
            self.skip()
            if self.text.startswith(",", self.position):
                member.comma = self.position
                self.take(",")
            elif not self.text.startswith("}", self.position):
                raise self.wrong()
            else:
                self.position = self.last

    def string(self) -> str:
        try:
            if self.text[self.position : self.position + 1] != '"':
                raise ValueError
            value, end = json.decoder.scanstring(self.text, self.position + 1)  # type: ignore[attr-defined]
        except ValueError:
            raise self.wrong() from None
        self.position = self.last = end
        return str(value)

    def take(self, character: str) -> None:
        if not self.text.startswith(character, self.position):
            raise self.wrong()
        self.position += 1
        self.last = self.position

    def wrong(self) -> NotReadable:
        return NotReadable(f"line {self.line()} is not valid JSON")

    def line(self) -> int:
        return self.text.count("\n", 0, self.position) + 1


def value_at(text: str, key: Sequence[str]) -> str | None:
    """Return the value of a key as written; None if there is no such key. Raises NotReadable."""
    found = _find(_MemberReader(text).document(), key)
    return None if found is None else text[found.value.start : found.value.end]


def keys_at(text: str, key: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of the object at ``key``; none if there is no object. Raises NotReadable."""
    value = _MemberReader(text).document()
    found = _find(value, key) if key else None
    inner = value if not key else found.value if found is not None else None
    return tuple(one.key for one in inner.members or ()) if inner is not None else ()


def is_empty_object(text: str, key: Sequence[str]) -> bool:
    """Whether there is an object without members at ``key``. Raises NotReadable."""
    found = _find(_MemberReader(text).document(), key)
    return found is not None and found.value.members == []


def put(text: str, key: Sequence[str], value: str) -> tuple[str, tuple[str, ...] | None]:
    """Return the text with ``value`` (JSON on one line) at ``key``, and the key of the outermost object created for it, if any.

    Raises NotReadable, also if something above the key is not an object.
    """
    document = _MemberReader(text).document()
    present = _find(document, key)
    if present is not None:
        return f"{text[: present.value.start]}{value}{text[present.value.end :]}", None
    above, made = document, None
    for number, part in enumerate(key[:-1]):
        inner = above.member(part)
        if inner is None:
            made = tuple(key[: number + 1])
            for name in reversed(key[number + 1 :]):
                value = f"{{{json.dumps(name)}: {value}}}"
            return _insert(text, above, part, value), made
        if inner.value.members is None:
            raise NotReadable(f"{'.'.join(key[: number + 1])} is not an object")
        above = inner.value
    return _insert(text, above, key[-1], value), None


def take_out(text: str, key: Sequence[str]) -> str:
    """Return the text without the key; unchanged if the key does not exist. Raises NotReadable."""
    document = _MemberReader(text).document()
    member = _find(document, key)
    if member is None:
        return text
    above = _find(document, key[:-1]).value if len(key) > 1 else document  # type: ignore[union-attr]
    assert above.members is not None
    index = next(number for number, one in enumerate(above.members) if one is member)
    before = above.members[index - 1] if index else None
    end = member.value.end if member.comma is None else member.comma + 1
    text = text[: member.lead] + text[end:]
    if before is not None and before.comma is not None and member.comma is None:
        text = text[: before.comma] + text[before.comma + 1 :]
    return text


def _find(value: _Value, key: Sequence[str]) -> _Member | None:
    member = None
    for part in key:
        member = value.member(part)
        if member is None:
            return None
        value = member.value
    return member


def _insert(text: str, above: _Value, key: str, value: str) -> str:
    assert above.members is not None
    entry = f"{json.dumps(key, ensure_ascii=False)}: {value}"
    last = above.members[-1] if above.members else None
    inside = text[above.start : above.end]
    line_end = "\r\n" if "\r\n" in text else "\n"
    if "\n" not in inside:
        return _joined(text, above, last, entry if last is None else f" {entry}")
    indent = _indent_of(text, last.start) if last is not None else f"{_indent_of(text, above.start)}  "
    return _joined(text, above, last, f"{line_end}{indent}{entry}")


def _joined(text: str, above: _Value, last: _Member | None, piece: str) -> str:
    """Insert the piece before the closing brace, and a comma after the previous value if it needs one."""
    if last is not None and last.comma is not None:
        return f"{text[: above.last]}{piece},{text[above.last :]}"
    result = f"{text[: above.last]}{piece}{text[above.last :]}"
    return result if last is None else f"{result[: last.value.end]},{result[last.value.end :]}"


def _indent_of(text: str, position: int) -> str:
    """Return the whitespace at the start of the line."""
    start = text.rfind("\n", 0, position) + 1
    end = start
    while end < len(text) and text[end] in " \t":
        end += 1
    return text[start:end]
