"""Edit frontmatter line by line, so that keys which no directive names keep their bytes (DECISIONS Overrides 15, 18).

A YAML 1.2 parser is used for its events only (no objects are constructed): they give the position of each top-level key and
whether a value is valid. The edits splice lines of text. An entry is the lines from its key to the last line of its value;
comments and blank lines between entries belong to no entry and stay. Quoted keys match their text. A comment on a replaced
line is replaced with it.

After all changes the whole block is parsed again. Each changed entry must have the requested value and the others must be
unchanged; otherwise the caller refuses the changes. So no value can close the frontmatter, add a key or swallow the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from rye.limits import CONTENT
from rye.text.frontmatter import is_marker
from rye.text.lazy import lazy_module
from rye.text.line_form import is_blank
from rye.text.yaml_reading import parser

if TYPE_CHECKING:
    from ruamel import yaml
else:
    yaml = lazy_module("ruamel.yaml")

Tokens = tuple[tuple[object, ...], ...]
"""A YAML node as its events, without positions and styles: two nodes are equal if their tokens are."""

_NO_STRING = re.compile(r"[-+]?[0-9.].*|true|false|null|yes|no|on|off|y|n", re.IGNORECASE)
"""Keys that some YAML parsers do not read as strings unless they are quoted."""
_OTHER_LINE_ENDS = frozenset("\r\x85\u2028\u2029")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


class FrontmatterError(ValueError):
    """The frontmatter cannot be read, or the change cannot be made. ``line``: from 0 within the text that was read, if known."""

    def __init__(self, message: str, line: int | None = None):
        super().__init__(message)
        self.line = line


class Entry(Struct):
    """Lines of the block: a top-level key with its value, or (``key`` is None) the comments and blank lines between entries."""

    key: str | None
    lines: list[str]
    tokens: Tokens = ()
    line: int | None = None
    """Index of the key's line in the block as it was read."""
    first: int | None = None
    """Index of the first line in the block as it was read; None if a directive set the entry."""
    written: tuple[int, ...] = ()
    """For an entry that a directive set: for each line, the line of the overrides file that it came from."""

    @property
    def scalar(self) -> str | None:
        """The value's text if it is a scalar that is neither blank nor null, else None."""
        if len(self.tokens) != 1 or self.tokens[0][0] != "scalar":
            return None
        text, plain = str(self.tokens[0][1]), bool(self.tokens[0][2])
        return None if not text.strip() or (plain and text in _NULLS) else text.strip()


class Frontmatter(Struct):
    """The entries of one block in order, without the ``---`` lines. ``indent``: the column of its top-level keys."""

    entries: list[Entry]
    indent: int = 0

    def get(self, key: str) -> Entry | None:
        """The entry of a key, or None."""
        return next((entry for entry in self.entries if entry.key == key), None)

    def lines(self) -> list[str]:
        """All lines between the fences."""
        return [line for entry in self.entries for line in entry.lines]

    def set(self, key: str, value: list[str], written_at: int = 1) -> bool:
        """Set ``key`` to ``value``, in place or at the end of the block. Return whether the key existed.

        ``value``: its lines as written, without blank lines at either end. ``written_at``: the line of the overrides file
        that the value begins on. Raises FrontmatterError if the value is not a single valid YAML value.
        """
        tokens, block_collection = _value_tokens(value)
        entry = self.get(key)
        shown = key
        if entry is not None and entry.lines[0].lstrip(" ")[0] in "'\"" and _NO_STRING.fullmatch(key):
            shown = f'"{key}"'  # without its quotes the key would become a number or a boolean
        lines = self._spliced(shown, key, value, tokens, block_collection)
        own = len(lines) - len(value)  # 1 if the key has a line to itself, else 0
        written = tuple(written_at + max(0, index - own) for index in range(len(lines)))
        if entry is not None:
            entry.lines, entry.tokens, entry.first, entry.written = lines, tokens, None, written
            return True
        self.entries.append(Entry(key, lines, tokens, written=written))
        return False

    def delete(self, key: str) -> bool:
        """Delete the key's entry. Return False if there is none."""
        entry = self.get(key)
        if entry is not None:
            self.entries.remove(entry)
        return entry is not None

    def check(self) -> None:
        """Raise FrontmatterError unless parsing the lines again gives exactly these entries."""
        again = read_frontmatter(self.lines())
        expected = {entry.key: entry.tokens for entry in self.entries if entry.key is not None}
        if {entry.key: entry.tokens for entry in again.entries if entry.key is not None} != expected:
            raise FrontmatterError("the changed frontmatter would not read back as its entries")

    def _spliced(self, written: str, key: str, value: list[str], tokens: Tokens, block_collection: bool) -> list[str]:
        """The entry's lines: the value as written if that reads back as the same value, else indented by two more spaces."""
        margin = " " * self.indent
        moved = [line if is_blank(line) else f"{margin}  {line}" for line in value]
        if block_collection:
            ways = [[f"{margin}{written}:", *value], [f"{margin}{written}:", *moved]]
        else:
            ways = [[f"{margin}{written}: {value[0].lstrip()}", *rest] for rest in (value[1:], moved[1:])]
        for lines in ways:
            try:
                read = read_frontmatter(lines)
            except FrontmatterError:
                continue
            if [(e.key, e.tokens) for e in read.entries] == [(key, tokens)] and read.indent == self.indent:
                return lines
        raise FrontmatterError("the value is valid alone but not behind a key")


def read_frontmatter(lines: list[str]) -> Frontmatter:
    """The entries of a block, given its lines without the ``---`` ones.

    Raises FrontmatterError if it is not valid YAML or not a block-style mapping with plain or quoted scalar keys, and for a
    duplicate key, too deep nesting, and a tag outside YAML's core schema.
    """
    if any(is_marker(line) for line in lines):
        raise FrontmatterError("a line of three dashes would end the frontmatter")
    events = list(_events("\n".join([*lines, ""])))
    if not events:
        return Frontmatter([Entry(None, list(lines), first=0)] if lines else [])
    first = events[0]
    if first.kind == "scalar" and first.text in _NULLS:
        return Frontmatter([Entry(None, list(lines), first=0)])
    if first.kind != "mapping" or first.flow or first.anchor:
        raise FrontmatterError("the frontmatter is not a mapping of keys at the start of lines", first.line)
    keys = _top_level(events, lines)
    entries: list[Entry] = []
    at = 0
    for key, line, last, tokens in keys:
        if line > at:
            entries.append(Entry(None, lines[at:line], first=at))
        entries.append(Entry(key, lines[line : last + 1], tokens, line, line))
        at = last + 1
    if at < len(lines):
        entries.append(Entry(None, lines[at:], first=at))
    return Frontmatter(entries, first.column)


class _Event(Struct, frozen=True, kw_only=True):
    kind: str
    line: int
    column: int
    last: int
    """Index of the last line that the event's text is on."""
    text: str = ""
    plain: bool = False
    tag: str = ""
    anchor: str = ""
    flow: bool = False

    def token(self) -> tuple[object, ...]:
        return (self.kind, self.text, self.plain, self.tag, self.anchor)


def _top_level(events: list[_Event], lines: list[str]) -> list[tuple[str, int, int, Tokens]]:
    """``(key, first line, last line, value)`` for each entry of the mapping in ``events``."""
    column = events[0].column
    spans: list[tuple[str, int, int, Tokens]] = []
    index = 1
    while events[index].kind != "end":
        key = events[index]
        if key.kind != "scalar" or key.anchor or key.tag or key.column != column:
            raise FrontmatterError("a top-level key is not a plain or quoted scalar", key.line)
        if lines[key.line][:column].strip(" ") or key.last != key.line:
            raise FrontmatterError("a top-level key is not at the start of its line", key.line)
        start = index = index + 1
        depth, last = 0, key.line
        while True:
            event = events[index]
            depth += 1 if event.kind in ("mapping", "sequence") else -1 if event.kind == "end" else 0
            if event.kind != "end" or event.flow:
                last = max(last, event.last)
            index += 1
            if depth == 0:
                break
        last = min(last, len(lines) - 1)
        while last > key.line and is_blank(lines[last]):
            last -= 1
        spans.append((key.text, key.line, last, tuple(event.token() for event in events[start:index])))
    return spans


def _value_tokens(value: list[str]) -> tuple[Tokens, bool]:
    """The tokens of a value parsed without its key, and whether it is a sequence or mapping in block style."""
    if any(is_marker(line) for line in value):
        raise FrontmatterError("a line of three dashes would end the frontmatter")
    events = list(_events("\n".join([*value, ""])))
    if not events:
        raise FrontmatterError("the value is only a comment")
    first = events[0]
    return tuple(event.token() for event in events), first.kind in ("mapping", "sequence") and not first.flow


def scalar_text(value: str) -> str:
    """A single-line quoted scalar, unquoted by YAML's rules. Raises FrontmatterError for anything else."""
    events = list(_events(value))
    if len(events) != 1 or events[0].kind != "scalar" or events[0].plain or events[0].tag or events[0].anchor:
        raise FrontmatterError("the quoted value is not one quoted string")
    return events[0].text


def _events(text: str) -> Iterator[_Event]:
    """The events of the single document in ``text``; none if it is empty.

    Raises FrontmatterError, also for duplicate keys, unknown aliases and documents beyond the limits.
    """
    if not _OTHER_LINE_ENDS.isdisjoint(text):
        raise FrontmatterError("a line does not end in LF, and YAML readers count such lines differently")
    open_: list[_Collection] = []
    anchors: set[str] = set()
    aliases = 0
    for event in _raw_events(text):
        name = type(event).__name__
        line, column, last = event.start_mark.line, event.start_mark.column, event.end_mark.line
        if (last, event.end_mark.column) == (line, column):
            last = -1  # the parser reports an empty value at the position of the next token
        elif event.end_mark.column == 0 and last > line:
            last -= 1
        if name in ("StreamStartEvent", "StreamEndEvent"):
            continue
        if name in ("DocumentStartEvent", "DocumentEndEvent"):
            if event.explicit:
                raise FrontmatterError("a document marker", line)
            continue
        if name in ("MappingEndEvent", "SequenceEndEvent"):
            yield _Event(kind="end", line=line, column=column, last=last, flow=open_.pop().flow)
            continue
        anchor = event.anchor or ""
        text_ = str(event.value) if name == "ScalarEvent" else anchor if name == "AliasEvent" else ""
        if open_:
            open_[-1].child(name, text_, line)
        if name == "AliasEvent":
            aliases += 1
            if aliases > CONTENT.yaml_aliases:
                raise FrontmatterError(f"more than {CONTENT.yaml_aliases} aliases", line)
            if anchor not in anchors:
                raise FrontmatterError(f"the alias {anchor!r} has no anchor before it", line)
            yield _Event(kind="alias", line=line, column=column, last=last, text=anchor)
            continue
        tag = str(event.tag or "")
        if tag and not (tag.startswith("tag:yaml.org,2002:") and tag.rpartition(":")[2] in _CORE_TAGS):
            raise FrontmatterError(f"the tag {tag!r} is outside YAML's core", line)
        anchors.add(anchor)
        if name == "ScalarEvent":
            plain = event.style in (None, "")
            yield _Event(
                kind="scalar", line=line, column=column, last=last, text=text_, plain=plain, tag=tag, anchor=anchor
            )
            continue
        kind = "mapping" if name == "MappingStartEvent" else "sequence"
        open_.append(_Collection(bool(event.flow_style), kind == "mapping"))
        if len(open_) > CONTENT.yaml_depth:
            raise FrontmatterError(f"nested deeper than {CONTENT.yaml_depth} levels", line)
        yield _Event(kind=kind, line=line, column=column, last=last, tag=tag, anchor=anchor, flow=open_[-1].flow)


class _Collection(Struct):
    """A mapping or sequence whose end event has not been read yet. ``keys``: a mapping's keys so far, to find duplicates."""

    flow: bool
    mapping: bool
    children: int = 0
    keys: set[str] = field(default_factory=set)

    def child(self, name: str, text: str, line: int) -> None:
        self.children += 1
        if self.mapping and self.children % 2 and name == "ScalarEvent":
            if text in self.keys:
                raise FrontmatterError(f"duplicate key {text!r}", line)
            self.keys.add(text)


_CORE_TAGS = frozenset({"str", "int", "float", "bool", "null", "seq", "map"})


def _raw_events(text: str) -> Iterator[Any]:
    try:
        yield from parser().parse(text)
    except yaml.error.MarkedYAMLError as error:
        problem = " ".join(str(part) for part in (error.context, error.problem) if part)
        raise FrontmatterError(problem or "not YAML", error.problem_mark.line if error.problem_mark else None) from None
    except FrontmatterError:
        raise
    except Exception as error:  # for some malformed input, ruamel raises other exceptions than its own
        raise FrontmatterError(f"not YAML ({type(error).__name__})") from None
