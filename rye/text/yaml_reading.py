"""YAML for item files: YAML 1.2 core, read from the event stream. Every limit is checked before a value exists.

* One document, plain text keys, no tags, no directives. Keys are the text as written (``1:`` is the key "1"), ``<<`` is an
  ordinary key, a duplicate key is an error (DECISIONS Agents 1 and 12).
* Depth, aliases and the size after aliases are capped (:data:`rye.limits.CONTENT`). An alias of a collection that is still open
  is refused. Values are built on an explicit stack, so nesting costs no recursion.
* An escape in double quotes cannot write what the file itself must not contain: controls, hidden characters, lone surrogates.
* ``schema="strings"`` reads every scalar as text, as the reference validator of Agent Skills does: ``version: 1.10`` stays
  "1.10".

``yes``, ``on`` and ``2026-02-18T00:00:00Z`` are strings, ``012`` is 12, ``0o17`` is 15, ``1_000`` is a string (YAML 1.2.2 §10.3).

The event stream is ruamel.yaml's; any error of its scanner becomes a YamlError.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

from rye.limits import CONTENT, ContentLimits
from rye.text import content
from rye.text.diagnostics import Diagnostic, Severity
from rye.text.lazy import lazy_module, lazy_pattern
from rye.text.yaml_error import YamlError, quoted_form

if TYPE_CHECKING:  # slow to import, and not needed for an empty frontmatter or other formats
    import ruamel.yaml as ruamel
else:
    ruamel = lazy_module("ruamel.yaml")


@cache
def _unused() -> Any:
    return ruamel.YAML(typ="safe", pure=True)


def parser() -> Any:
    """A parser that has read nothing. The library looks for plug-ins on the disk for each one that it makes, so it makes one, and
    this is a copy."""
    return copy(_unused())


def events(text: str, first_line: int) -> Iterator[Any]:
    """Yield the events of a text. ``first_line``: the file's line where it starts. Raises YamlError."""
    try:
        yield from parser().parse(text)
    except YamlError:
        raise
    except ruamel.error.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = " ".join(part for part in (error.context, error.problem) if part)
        if (
            error.problem == "mapping values are not allowed here"
        ):  # the commonest mistake: `description: Use this: when …`
            message += " (a value that contains a colon and a space needs quotation marks)"
        line = (mark.line if mark else 0) + first_line
        written = text.split("\n")[mark.line] if mark and mark.line <= text.count("\n") else ""
        hint = quoted_form(message, written)
        raise YamlError(" ".join(message.split()), line, mark.column + 1 if mark else None, hint) from None
    except ruamel.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + first_line
        raise YamlError("it contains a character that YAML does not allow", line) from None
    except ruamel.error.YAMLError as error:
        raise YamlError(" ".join(str(error).split()), first_line) from None
    except (ValueError, IndexError, KeyError, AttributeError, TypeError, OverflowError, AssertionError, RecursionError):
        # The library's scanner fails with arbitrary exceptions on some malformed input, such as impossible escapes.
        raise YamlError("malformed YAML", first_line) from None


__all__ = [
    "Path",
    "Schema",
    "YamlDocument",
    "YamlError",
    "core_value",
    "hidden_by_escape",
    "json_safe",
    "parser",
    "read_yaml",
]

Path = tuple[str | int, ...]
Schema = Literal["core", "strings"]

_NULL = frozenset(["", "~", "null", "Null", "NULL"])
_BOOLEAN = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_DECIMAL = lazy_pattern(r"[-+]?[0-9]+")
_OCTAL = lazy_pattern(r"0o[0-7]+")
_HEX = lazy_pattern(r"0x[0-9a-fA-F]+")
_FLOAT = lazy_pattern(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITY = lazy_pattern(r"([-+]?)\.(?:inf|Inf|INF)")
_NAN = frozenset([".nan", ".NaN", ".NAN"])
_SURROGATE = lazy_pattern("[\ud800-\udfff]")
_NUMBER_CHARACTERS = 100
"""Longer numbers are refused: the time to convert one grows with the square of its length."""
_OTHER_LINE_ENDS = frozenset("\x85\u2028\u2029")


class YamlDocument(Struct, frozen=True):
    """A value and the positions of its parts. The value of an empty document is None."""

    value: Any
    marks: dict[Path, tuple[int, int]]
    """Line and column of each key (in mappings) or item (in sequences), by path; nothing below an alias."""
    first_line: int
    features: tuple[tuple[str, int], ...] = ()
    """Constructs that stricter parsers refuse, with their lines: "flow collection", "anchor", "alias"."""

    def line(self, *path: str | int) -> int:
        """The line of the value at ``path``, or of its nearest ancestor that has one."""
        return self.position(*path)[0]

    def position(self, *path: str | int) -> tuple[int, int]:
        """Line and column of the value at ``path``, or of its nearest ancestor that has them."""
        while path and path not in self.marks:
            path = path[:-1]
        return self.marks.get(path, (self.first_line, 1))


class _Open(Struct):
    """A collection under construction."""

    value: dict[str, Any] | list[Any]
    path: Path
    anchor: str | None
    nodes: int = 1
    key: str | None = None
    has_key: bool = False


class _Builder(Struct, kw_only=True):
    schema: Schema
    limits: ContentLimits
    first_line: int
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, tuple[Any, int]] = field(default_factory=dict)
    """Closed anchored nodes: the value, and the number of nodes with aliases expanded."""
    marks: dict[Path, tuple[int, int]] = field(default_factory=dict)
    features: list[tuple[str, int]] = field(default_factory=list)
    aliases: int = 0
    nodes: int = 0
    root: Any = None
    documents: int = 0

    def fail(self, message: str, event: Any) -> YamlError:
        return YamlError(message, *self.place(event))

    def place(self, event: Any) -> tuple[int, int]:
        return event.start_mark.line + self.first_line, event.start_mark.column + 1

    def take(self, event: Any) -> None:
        kind = type(event).__name__
        if kind == "DocumentStartEvent":
            self.documents += 1
            if self.documents > 1:
                raise self.fail("a second YAML document starts here; only one is allowed", event)
            if event.version or event.tags:
                raise self.fail("YAML directives (%YAML, %TAG) are not allowed", event)
        elif kind == "ScalarEvent":
            self.scalar(event)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            self.open(event, {} if kind == "MappingStartEvent" else [])
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self.close(event)
        elif kind == "AliasEvent":
            self.alias(event)

    def scalar(self, event: Any) -> None:
        self.refuse_tag(event)
        if event.style == '"' and (hidden := hidden_by_escape(event.value)):
            raise self.fail(hidden, event)
        top = self.stack[-1] if self.stack else None
        if top is not None and isinstance(top.value, dict) and not top.has_key:
            if event.anchor:
                self.features.append(("anchor", self.place(event)[0]))
                self.anchors[event.anchor] = (event.value, 1)
            if event.value in top.value:
                first = self.marks[(*top.path, event.value)][0]
                raise self.fail(f"duplicate key {event.value!r}, first on line {first}", event)
            top.key, top.has_key = event.value, True
            self.marks[(*top.path, event.value)] = self.place(event)
            self.count(1, event)
            return
        plain = event.style is None or event.style == ""
        value = event.value
        if plain and self.schema == "core":
            try:
                value = core_value(event.value)
            except ValueError as error:
                raise self.fail(str(error), event) from None
        self.add(value, 1, event)
        if event.anchor:
            self.features.append(("anchor", self.place(event)[0]))
            self.anchors[event.anchor] = (value, 1)

    def open(self, event: Any, value: dict[str, Any] | list[Any]) -> None:
        self.refuse_tag(event)
        if len(self.stack) >= self.limits.yaml_depth:
            raise self.fail(f"collections are nested more than {self.limits.yaml_depth} deep", event)
        if event.flow_style:
            self.features.append(("flow collection", self.place(event)[0]))
        if event.anchor:
            self.features.append(("anchor", self.place(event)[0]))
            self.anchors.pop(event.anchor, None)
        path = self.slot(event)
        self.stack.append(_Open(value, path, event.anchor))

    def close(self, event: Any) -> None:
        done = self.stack.pop()
        if done.anchor:
            self.anchors[done.anchor] = (done.value, done.nodes)
        self.add(done.value, done.nodes, event, counted=True)

    def alias(self, event: Any) -> None:
        self.aliases += 1
        self.features.append(("alias", self.place(event)[0]))
        if self.aliases > self.limits.yaml_aliases:
            raise self.fail(f"more than {self.limits.yaml_aliases} aliases", event)
        if event.anchor not in self.anchors:
            raise self.fail(f"the alias *{event.anchor} does not name a finished anchor", event)
        top = self.stack[-1] if self.stack else None
        if top is not None and isinstance(top.value, dict) and not top.has_key:
            raise self.fail("an alias cannot be a key", event)
        value, nodes = self.anchors[event.anchor]
        self.add(value, nodes, event)

    def slot(self, event: Any) -> Path:
        """Return the path of the next value, and note where sequence items are. Refuse a collection as a key."""
        if not self.stack:
            return ()
        top = self.stack[-1]
        if isinstance(top.value, dict):
            if not top.has_key:
                raise self.fail("a key must be plain text, not a collection", event)
            return (*top.path, top.key or "")
        path = (*top.path, len(top.value))
        self.marks.setdefault(path, self.place(event))
        return path

    def add(self, value: Any, nodes: int, event: Any, *, counted: bool = False) -> None:
        if not counted:
            self.count(nodes, event)
        if not self.stack:
            self.root = value
            return
        top = self.stack[-1]
        top.nodes += nodes
        if isinstance(top.value, dict):
            top.value[top.key or ""] = value
            top.key, top.has_key = None, False
        else:
            self.marks.setdefault((*top.path, len(top.value)), self.place(event))
            top.value.append(value)

    def count(self, nodes: int, event: Any) -> None:
        self.nodes += nodes
        if self.nodes > self.limits.yaml_nodes:
            raise self.fail(f"more than {self.limits.yaml_nodes} values after expanding aliases", event)

    def refuse_tag(self, event: Any) -> None:
        if event.tag is not None:
            raise self.fail("tags (!…) are not allowed", event)


def read_yaml(
    text: str, *, first_line: int = 1, schema: Schema = "core", limits: ContentLimits = CONTENT
) -> YamlDocument:
    """Parse one YAML document. ``first_line``: the file's line where ``text`` starts. Raises YamlError."""
    _refuse_other_line_ends(text, first_line)

    builder = _Builder(schema=schema, limits=limits, first_line=first_line)
    for event in events(text, first_line):
        builder.take(event)
    return YamlDocument(builder.root, builder.marks, first_line, tuple(builder.features))


def _refuse_other_line_ends(text: str, first_line: int) -> None:
    """The library implements YAML 1.1, where these end lines and so end comments; in YAML 1.2 (5.4) they are content. Text
    after one would be visible here but to no other parser."""
    if text.isascii():
        return
    found = next((place for place, character in enumerate(text) if character in _OTHER_LINE_ENDS), None)
    if found is not None:
        before = text[:found]
        line, column = first_line + before.count("\n"), found - before.rfind("\n")
        raise YamlError(
            f"U+{ord(text[found]):04X} is not allowed: some parsers end a line there, others do not", line, column
        )


def core_value(text: str) -> Any:
    """Resolve a plain scalar under the core schema (YAML 1.2.2 §10.3.2). Raises ValueError for an absurdly long number."""
    if text in _NULL:
        return None
    if text in _BOOLEAN:
        return _BOOLEAN[text]
    if text[0] not in "+-.0123456789":
        return text
    if _FLOAT.fullmatch(text) or _OCTAL.fullmatch(text) or _HEX.fullmatch(text):
        if len(text) > _NUMBER_CHARACTERS:
            raise ValueError(f"a number has {len(text)} characters")
        if _DECIMAL.fullmatch(text):
            return int(text, 10)
        if text.startswith(("0o", "0x")):
            return int(text[2:], 8 if text[1] == "o" else 16)
        return float(text)
    if infinity := _INFINITY.fullmatch(text):
        return float(infinity[1] + "inf")
    if text in _NAN:
        return float("nan")
    return text


def hidden_by_escape(text: str) -> str | None:
    """The reason, as a clause, why an item must not contain this text, which escapes may have written (DESIGN §5); or None."""
    if surrogate := _SURROGATE.search(text):
        return f"an escape writes the lone surrogate U+{ord(surrogate[0]):04X}, which is not a character"
    found = next((finding for finding in content.check_text(text) if finding.severity == "error"), None)
    if found is None:
        return None
    if found.code == "C08":
        return "the quoted text is not in normalization form C (NFC)"
    if found.code == "C13":
        return f"the quoted text has more than {content.MAX_COMBINING} combining marks in a row"
    return f"an escape writes {found.message.split(' at column')[0]}, which the file itself must not contain"


def json_safe(value: Any) -> Any:
    """The value for ``as_json``: numbers that JSON lacks (``.inf``, ``.nan``) become text, dates become ISO 8601."""
    if isinstance(value, dict):
        return {str(key): json_safe(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [json_safe(part) for part in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"inf": ".inf", "-inf": "-.inf"}.get(str(value), ".nan")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return value


class YamlFindings:
    """Collects findings, each at the line and column of its key."""

    def __init__(self, document: YamlDocument):
        self.document = document
        self.found: list[Diagnostic] = []

    def report(self, severity: Severity, code: str, message: str, *path: str | int, hint: str | None = None) -> None:
        """Add a finding about the value at ``path``."""
        line, column = self.document.position(*path)
        self.found.append(Diagnostic(severity, code, message, line, column, hint))
