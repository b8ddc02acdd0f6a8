"""Parse git's packet lines (gitprotocol-common(5)) and the requests of ``git fetch`` over HTTP, protocol versions 2 and
0.

Anything unknown is refused (:class:`GitRefusal`), as git's own server does. A length has four hexadecimal digits, which
it includes, and is at most 65,520. 0000 ends a message and 0001 a section; 0002 and 0003 are invalid in a request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum

from msgspec import Struct

MOST_LINE = 65_520
_LENGTH = re.compile(rb"[0-9a-fA-F]{4}")
_NAME = re.compile(r"[0-9a-f]{40}")
_NUMBER = re.compile(r"[0-9]{1,15}")


class GitRefusal(Exception):
    """A refused request. Git shows the text."""


class Mark(Enum):
    """A line without content."""

    FLUSH = b"0000"
    DELIMITER = b"0001"


Line = bytes | Mark


class ListRefs(Struct, frozen=True):
    """An ``ls-refs`` command of version 2."""

    prefixes: tuple[str, ...] = ()
    symrefs: bool = False


class Fetch(Struct, frozen=True, kw_only=True):
    """What a client wants, what it has, and how much history it asks for."""

    wants: tuple[str, ...]
    haves: tuple[str, ...] = ()
    done: bool = False
    deepens: bool = False
    """Whether the client asked for part of the history. The response then names the shallow boundary."""
    since: int | None = None
    """Only commits after this time, in seconds since 1970."""
    excludes: bool = False
    """Whether the client excludes a branch's history, which is the whole history here."""
    band: int = MOST_LINE
    """The longest side-band line in the response; 0: no side band."""
    negotiates: bool = True
    """Version 0: whether anything follows the wants. If not, the client only asks for the shallow boundary."""


def line(content: bytes | str) -> bytes:
    """Encode one line. ``content`` has at most 65,516 bytes."""
    data = content.encode() if isinstance(content, str) else content
    return b"%04x" % (len(data) + 4) + data


def read_lines(data: bytes) -> list[Line]:
    """Split a request into lines. Raises GitRefusal."""
    lines: list[Line] = []
    at = 0
    while at < len(data):
        head = data[at : at + 4]
        if _LENGTH.fullmatch(head) is None:
            raise GitRefusal("protocol error: bad line length character")
        length = int(head, 16)
        if length < 4:
            if length > 1:
                raise GitRefusal(f"protocol error: bad line length {length}")
            lines.append(Mark.DELIMITER if length else Mark.FLUSH)
            at += 4
            continue
        if length > MOST_LINE or at + length > len(data):
            raise GitRefusal(f"protocol error: bad line length {length}")
        lines.append(data[at + 4 : at + length])
        at += length
    return lines


def _texts(lines: Iterable[Line]) -> list[str]:
    texts = []
    for line in lines:
        if isinstance(line, Mark):
            raise GitRefusal("protocol error: unexpected end of section")
        try:
            texts.append(line.decode("utf-8").removesuffix("\n"))
        except UnicodeDecodeError:
            raise GitRefusal("protocol error: line is not UTF-8") from None
    return texts


def read_version_2(lines: Sequence[Line]) -> ListRefs | Fetch:
    """Parse one command of protocol version 2: capabilities, 0001, arguments, 0000. Raises GitRefusal."""
    if not lines or lines[-1] is not Mark.FLUSH:
        raise GitRefusal("protocol error: missing flush packet")
    body = list(lines[:-1])
    split = body.index(Mark.DELIMITER) if Mark.DELIMITER in body else len(body)
    capabilities, arguments = _texts(body[:split]), _texts(body[split + 1 :])
    commands = [text.removeprefix("command=") for text in capabilities if text.startswith("command=")]
    for text in capabilities:
        key, _, value = text.partition("=")
        if key not in ("command", "agent", "object-format", "session-id"):
            raise GitRefusal(f"unknown capability {key[:40]!r}")
        if key == "object-format" and value != "sha1":
            raise GitRefusal("mismatched object format: server uses sha1")
    if commands == ["ls-refs"]:
        return _list_refs(arguments)
    if commands == ["fetch"]:
        return _fetch(arguments)
    raise GitRefusal("invalid command")


def _list_refs(arguments: Iterable[str]) -> ListRefs:
    prefixes = []
    symrefs = False
    for text in arguments:
        word, _, rest = text.partition(" ")
        if word == "ref-prefix" and rest:
            prefixes.append(rest)
        elif text == "symrefs":
            symrefs = True
        elif text not in ("peel", "unborn"):
            raise GitRefusal(f"unexpected line: {text[:40]!r}")
    return ListRefs(tuple(prefixes), symrefs)


_IGNORED = frozenset({"thin-pack", "no-progress", "include-tag", "ofs-delta", "deepen-relative"})


def _fetch(arguments: Iterable[str]) -> Fetch:
    wants, haves = [], []
    done = deepens = excludes = False
    since: int | None = None
    for text in arguments:
        word, _, rest = text.partition(" ")
        if word == "want":
            wants.append(_object(rest))
        elif word == "have":
            haves.append(_object(rest))
        elif word == "shallow":
            _object(rest)
        elif word == "deepen":
            _depth(rest)
            deepens = True
        elif word == "deepen-since":
            since, deepens = _number(rest), True
        elif word == "deepen-not" and rest:
            excludes = deepens = True
        elif text == "done":
            done = True
        elif text not in _IGNORED:
            raise GitRefusal(f"unexpected line: {text[:40]!r}")
    if not wants:
        raise GitRefusal("fetch without wants")
    return Fetch(wants=tuple(wants), haves=tuple(haves), done=done, deepens=deepens, since=since, excludes=excludes)


def read_version_0(lines: Sequence[Line]) -> Fetch | None:
    """Parse a request of protocol version 0: wants, 0000, haves, ``done``. None: it wants nothing and gets no response.

    Raises GitRefusal.
    """
    if not lines or lines[0] is Mark.FLUSH:
        return None
    if Mark.FLUSH not in lines:
        raise GitRefusal("protocol error: missing flush packet after wants")
    split = list(lines).index(Mark.FLUSH)
    wanted = _texts(lines[:split])
    said = _texts(line for line in lines[split + 1 :] if line is not Mark.FLUSH)
    first, _, capabilities = wanted[0].partition(" ")[2].partition(" ")
    words = capabilities.split()
    arguments = [f"want {first}", *wanted[1:], *said]
    if any(text.startswith("want ") for text in said) or not wanted[0].startswith("want "):
        raise GitRefusal("protocol error: unexpected want")
    if any(word.startswith("object-format=") and word != "object-format=sha1" for word in words):
        raise GitRefusal("mismatched object format: server uses sha1")
    asked = _fetch(arguments)
    band = MOST_LINE if "side-band-64k" in words else 1000 if "side-band" in words else 0
    negotiates = split + 1 < len(lines)
    return Fetch(
        wants=asked.wants,
        haves=asked.haves,
        done=asked.done,
        deepens=asked.deepens,
        since=asked.since,
        excludes=asked.excludes,
        band=band,
        negotiates=negotiates,
    )


def _object(text: str) -> str:
    if _NAME.fullmatch(text) is None:
        raise GitRefusal(f"protocol error: expected an object id, got {text[:60]!r}")
    return text


def _number(text: str) -> int:
    if _NUMBER.fullmatch(text) is None:
        raise GitRefusal(f"protocol error: {text[:40]!r} is not a number")
    return int(text)


def _depth(text: str) -> int:
    depth = _number(text)
    if depth < 1:
        raise GitRefusal(f"invalid deepen: {text[:40]!r}")
    return depth
