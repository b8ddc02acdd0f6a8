"""One file as the rules read it: its lines, which words it has at all, and its logical lines with disguises taken off.

Two steps keep this cheap. ``words`` is a set that costs one pass over the bytes; a rule whose trigger words are not in it
reads nothing. A rule that has one reads the logical lines in which it stands, and only those.

A logical line is what a shell or a reader takes as one: lines continued with a backslash or a pipe, or a paragraph of prose.
Its text is plain: quotes inside words, ``$IFS``, ``$@`` and escapes are gone, because ``c''url`` is ``curl`` to a shell.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from rye.limits import FACTS
from rye.text.facts.addresses import Address
from rye.text.facts.addresses import find as find_addresses

_LOWER = bytes(range(65)) + bytes(range(97, 123)) + bytes(range(91, 256))
_DROPPED = b"\"'\\^"
_WORDS = bytes(code if (chr(code).isalnum() and code < 128) or code in b"_\n" else 32 for code in range(256))
_EDGE = frozenset(code for code in range(256) if _WORDS[code] in b" \n")
_WINDOWS_PATH = re.compile(rb"(?:[a-z]:|%\w{1,30}%|\\|~|\.|hk(?:cu|lm|ey_\w{1,20}))\\[^\s\"'`]{1,400}")
_WINDOWS_MARKS = (b":\\", b"%\\", b"\\\\", b"~\\", b".\\", b"hk")
_EXPANDED = re.compile(rb"\$(?:[@*]|\{ifs[^}\n]{0,20}\}|ifs(?:\$[0-9])?)")
#: Stands in a logical line where the file has a line break; ``str.isspace`` and ``\s`` take it for white space.
BREAK = "\x1f"
#: Operators inside a quoted word are data. They are private characters while rules look at the line, and shown as they were.
_MASK = str.maketrans("|&;()<>`", "\ue000\ue001\ue002\ue003\ue004\ue005\ue006\ue007")
_SHOWN = str.maketrans("\ue000\ue001\ue002\ue003\ue004\ue005\ue006\ue007" + BREAK, "|&;()<>` ")
_BLOCK_START = re.compile(r"\s*(?:$|#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s|\||```|~~~|---|===|<!--)")
_COMMAND_START = re.compile(
    r"(?:\$ )?(?:sudo|bash|sh|zsh|curl|wget|chmod|python3?|node|eval|echo|cd|source|export|tar|unzip|iex|git|npx|pip3?)\s"
    r"|\./|\$?\w+="
)
_FENCE = re.compile(r"[\s>]*(?:[-*+]\s+|\d{1,9}[.)]\s+)?(`{3,}|~{3,})\s*([^\s`{]*)")
_MARKDOWN = (".md", ".mdx", ".markdown", ".txt", ".rst")

_QUOTED_WORD = re.compile(r"(?<!\\)(['\"])([^'\"\s]{1,400})\1")
_LIST_COMMA = re.compile(r"['\"]\s*,\s*['\"]")
_CONCATENATED = re.compile(r"['\"]\s?\+\s?['\"]")
_PLACEHOLDER = re.compile(r"<([A-Za-z][\w.:/?=%-]{0,200})>")
_BRACES = re.compile(r"\{((?:curl|wget|bash|sh|python3?|eval|base64),[^\s{}]{1,400})\}")
_IEX = re.compile(r"\b(iex|invoke-expression)\s+&(?=\s)", re.IGNORECASE)
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|([0-3][0-7]{2}))")
_IFS = re.compile(r"\$(?:\{IFS[^}]{0,20}\}|IFS(?:\$\d)?)")
_NOTHING = re.compile(r"\$[@*]|(?<=[A-Za-z])\^(?=[A-Za-z])")
_BACKSLASH_WORD = re.compile(r"[^\s\\]{0,200}\\\S{0,200}")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w{0,60})\}|([A-Za-z_]\w{0,60}))")
_ASSIGNED = re.compile(
    r"^[ \t$>]*(?:export |set |let |const |local |readonly )?\$?([A-Za-z_]\w{0,60}) ?= "
    r"?([\"']?)([^\s\"'`$();|&<>]{1,2000})\2[ \t]*(?:$|[;&])",
    re.MULTILINE,
)


class Line(NamedTuple):
    """A logical line: ``text`` is plain, ``first`` the number of its first line in the file (from 0)."""

    text: str
    first: int
    code: bool
    """Whether it is code: in a fence, indented, or in a file that is no prose."""


class Found(NamedTuple):
    """What a rule found: a value and the line (from 0) and column (from 0) where it is. ``level`` only where it differs."""

    fact: str
    value: str
    line: int
    column: int
    level: str = ""


class Source:
    """One file. ``paths`` are the names of all files of the item, because a lock file beside it pins what it installs."""

    def __init__(self, path: str, text: str, files: dict[str, str] | None = None) -> None:
        self.path = path
        self.text = text
        self.files = files or {path: text}
        raw = text.encode("utf-8", "replace").translate(_LOWER)
        if b"\\n" in raw:
            raw = raw.replace(b"\\n", b"  ")
        if b"\\" in raw and any(mark in raw for mark in _WINDOWS_MARKS):
            raw = _WINDOWS_PATH.sub(lambda match: match[0].replace(b"\\", b"/"), raw)
        self.lowered = raw.translate(None, _DROPPED)
        if b"$" in self.lowered:
            self.lowered = _EXPANDED.sub(lambda match: b"" if match[0] in (b"$@", b"$*") else b" ", self.lowered)
        self.words = frozenset(self.lowered.translate(_WORDS).split())
        self._rows: dict[bytes, list[int]] = {}
        self._logical: dict[int, Line] = {}
        self._extents: dict[int, tuple[int, int]] = {}

    @cached_property
    def lines(self) -> list[str]:
        """The file's lines without their ends."""
        return self.text.split("\n")

    @cached_property
    def markdown(self) -> bool:
        """Whether the file is prose with blocks in it, and not code throughout."""
        return self.path.lower().endswith(_MARKDOWN)

    @cached_property
    def text_starts(self) -> list[int]:
        """Where each line starts in the text, in characters."""
        return [0, *accumulate(len(line) + 1 for line in self.lines)]

    def line_at(self, offset: int) -> int:
        """The number (from 0) of the line in which the text's character ``offset`` stands."""
        return bisect_right(self.text_starts, offset) - 1

    @cached_property
    def addresses(self) -> list[Address]:
        """Every address in the text."""
        return list(find_addresses(self.text))

    @cached_property
    def fences(self) -> list[str | None]:
        """For each line the language of the fenced block that it is in (``""`` without one); None outside and for the fences."""
        found: list[str | None] = []
        inside: str | None = None
        mark = ""
        for line in self.lines:
            if "```" in line or "~~~" in line:
                match = _FENCE.match(line)
                if match is not None and (inside is None or (match[1].startswith(mark) and not match[2])):
                    inside, mark = (match[2].lower(), match[1]) if inside is None else (None, "")
                    found.append(None)
                    continue
            found.append(inside)
        return found

    def is_code(self, number: int) -> bool:
        """Whether line ``number`` (from 0) is code: a file that is no prose, a fence, or indented by four after no list."""
        return not self.markdown or self.fences[number] is not None

    def has(self, triggers: frozenset[bytes]) -> bool:
        """Whether any of these words occurs in the file at all."""
        return not triggers.isdisjoint(self.words)

    def lines_with(self, triggers: frozenset[bytes]) -> list[int]:
        """The numbers (from 0) of the lines in which any of these words stands, in order."""
        found = triggers & self.words
        if not found:
            return []
        if len(found) == 1:
            return self._lines_of(next(iter(found)))
        return sorted({number for word in found for number in self._lines_of(word)})

    def _lines_of(self, word: bytes) -> list[int]:
        """The lines of one word, looked for once for all rules."""
        known = self._rows.get(word)
        if known is None:
            text, starts, size = self.lowered, self._starts, len(word)
            known = self._rows[word] = []
            at = text.find(word)
            while at >= 0:
                if (at == 0 or text[at - 1] in _EDGE) and (at + size == len(text) or text[at + size] in _EDGE):
                    number = bisect_right(starts, at) - 1
                    known.append(number)
                    at = text.find(word, starts[number + 1])
                else:
                    at = text.find(word, at + size)
        return known

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self.lowered.split(b"\n"))]

    def logical_lines(self, triggers: frozenset[bytes]) -> Iterator[Line]:
        """The logical lines in which any of these words stands, in order, each once."""
        seen = -1
        for number in self.lines_with(triggers):
            line = self.logical(number)
            if line.first > seen:
                seen = line.first
                yield line

    def logical(self, number: int) -> Line:
        """The logical line that the file's line ``number`` (from 0) belongs to."""
        first, last = self._extent(number)
        known = self._logical.get(first)
        if known is None:
            raw = self.lines[first : last + 1]
            known = self._logical[first] = Line(self._plain(raw), first, self.is_code(first))
        return known

    def _extent(self, number: int) -> tuple[int, int]:
        known = self._extents.get(number)
        if known is not None:
            return known
        first = last = number
        least, most = max(0, number - FACTS.continued_lines), min(len(self.lines) - 1, number + FACTS.continued_lines)
        while first > least and first - 1 not in self._extents and self._continues(first - 1):
            first -= 1
        while last < most and self._continues(last):
            last += 1
        for line in range(first, last + 1):
            self._extents[line] = (first, last)
        return first, last

    def _continues(self, number: int) -> bool:
        """Whether the line after ``number`` goes on with it."""
        line, following = self.lines[number].rstrip(), self.lines[number + 1].lstrip()
        if line.endswith(("\\", " `")):
            return True
        table = line.lstrip().startswith("|") or (following.startswith("|") and following.rstrip().endswith("|"))
        if not table and (line.endswith(("|", "&&", "|&")) or following.startswith(("| ", "&& ", "|& ", "|| "))):
            return bool(line) and bool(following)
        if not self.markdown or self.fences[number] is not None or self.fences[number + 1] is not None:
            return False
        if len(line) > 2000 or not line or _COMMAND_START.match(following) or _BLOCK_START.match(following):
            return False
        if line.count("`") % 2:
            return True
        return following.startswith(("http", "-")) and "://" not in line

    @cached_property
    def values(self) -> dict[str, str]:
        """Short literal values that the file gives to names: ``U=https://…``, ``const u = "…"``."""
        return {match[1]: match[3] for match in _ASSIGNED.finditer(self.text)} if "=" in self.text else {}

    def _plain(self, raw: Sequence[str]) -> str:
        parts = []
        for line in raw:
            stripped = line.rstrip()
            if self.markdown and stripped.lstrip().startswith(">"):
                stripped = stripped.lstrip(" \t>")
            if stripped.endswith("\\"):
                cut = stripped[:-1]
                parts.append(cut if cut and not cut[-1].isspace() else cut + BREAK)
            elif stripped.endswith(" `"):
                parts.append(stripped[:-1] + BREAK)
            else:
                parts.append(stripped + BREAK)
        joined = "".join(parts)[: -1 if parts[-1].endswith(BREAK) else None]
        return plain(joined, self.values if "$" in joined else None)

    def place(self, line: Line, offset: int, word: str) -> tuple[int, int]:
        """The file's line and column, both from 0, of ``word`` at ``offset`` of a logical line's text."""
        number = line.first + line.text.count(BREAK, 0, offset)
        number = min(number, len(self.lines) - 1)
        for at in (number, *range(line.first, min(line.first + 4, len(self.lines)))):
            column = self.lines[at].find(word) if word else -1
            if column < 0 and word:
                column = self.lines[at].lower().find(word.lower())
            if column >= 0:
                return at, column
        raw = self.lines[number]
        return number, len(raw) - len(raw.lstrip())


def plain(text: str, values: dict[str, str] | None = None) -> str:
    """``text`` as a shell would read its words: without quotes, escapes and ``$IFS``, known names filled in."""
    if "\\" in text:
        if "\\x" in text or "\\0" in text or "\\1" in text:
            text = _ESCAPE.sub(_unescaped, text)
        text = text.replace("\\n", " ; ").replace('\\"', '"').replace("\\'", "'").replace("\\|", "|")
    if "'" in text or '"' in text:
        text = _LIST_COMMA.sub(lambda match: " " + BREAK * match[0].count(BREAK), text)
        if "+" in text:
            text = _CONCATENATED.sub("", text)
        text = _QUOTED_WORD.sub(lambda match: match[2].translate(_MASK), text)
        text = text.replace('"', "").replace("'", "")
    if "\\" in text:
        text = _BACKSLASH_WORD.sub(_without_backslashes, text)
    if "<" in text:
        text = _PLACEHOLDER.sub(r" \1 ", text)
    if "{" in text and "," in text:
        text = _BRACES.sub(lambda match: match[1].replace(",", " "), text)
    if "&" in text:
        text = _IEX.sub(r"\1 ", text)
        text = text.replace("&#124;", "|").replace("&amp;", "&").replace("&gt;", ">").replace("&lt;", "<")
    if "$" in text:
        text = _NOTHING.sub("", _IFS.sub(" ", text))
        if values:
            text = _filled_in(text, values)
    return text


def _unescaped(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16) if match[1] else int(match[2], 8))
    return character if character.isprintable() else " "


def _without_backslashes(match: re.Match[str]) -> str:
    word = match[0]
    is_path = ":\\" in word or "\\\\" in word or word.startswith((".\\", "~\\", "%", "$", "(.\\"))
    return word.replace("\\", "/" if is_path else "")


def _filled_in(text: str, values: dict[str, str]) -> str:
    room = FACTS.filled_in_characters

    def value(match: re.Match[str]) -> str:
        nonlocal room
        known = values.get(match[1] or match[2])
        if known is None or len(known) > room:
            return match[0]
        room -= len(known)
        return known

    return _VARIABLE.sub(value, text)


def unmask(word: str) -> str:
    """A word of a logical line with its operators as they were written."""
    return word.translate(_SHOWN)


def shown(text: str) -> str:
    """A piece of a logical line for people: operators inside words as they were, one blank between words."""
    return " ".join(text.translate(_SHOWN).split())


def word_set(text: str) -> frozenset[str]:
    """The words of ``text``, which white space separates: how the rules write their tables."""
    return frozenset(text.split())


def triggers(some: str | Iterable[str]) -> frozenset[bytes]:
    """Lower-case words, or a text of them, as ``Source.has`` takes them."""
    return frozenset(word.encode() for word in (some.split() if isinstance(some, str) else some))
