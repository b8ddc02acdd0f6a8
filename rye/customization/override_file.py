"""Parse an overrides file into directives (DECISIONS Overrides 1–6, 17).

A file consists of frontmatter, a preamble that is never applied, and directives::

    <!-- DIRECTIVE: replace
    target: ## Heading
    reason: why
    -->
    content
    <!-- END DIRECTIVE -->

* Opener, ``-->`` and closer lines start at column 0 and must match exactly, apart from trailing whitespace. Metadata lines are
  plain ``key: rest``, not YAML, where ``## Heading`` would be a comment. A quoted value is unquoted by YAML's rules.
* A malformed directive is dropped completely, with an error at its line; the others still count. An opener inside a directive
  drops that directive, and parsing continues at the opener. A closer within a longer line, or a second closer after the end,
  also drops its directive: the author probably meant it as content, so the directive can be incomplete.
* The directives start at the first opener that is not in a code fence of the preamble. After that, fences have no meaning.
* A file is rejected if it is in the old format, or if its frontmatter does not say what it is for and when it was reviewed.

Metadata is never executed, expanded or used as a path. It is compared with headings and keys, and escaped in messages.
"""

from __future__ import annotations

import re
from datetime import date
from difflib import get_close_matches
from functools import cache

from msgspec import Struct

from rye.customization.frontmatter_editing import FrontmatterError, read_frontmatter, scalar_text
from rye.customization.heading_path import HeadingPathError, Selector, parse_heading_path
from rye.limits import CONTENT
from rye.text.diagnostics import Diagnostic, has_errors
from rye.text.display import visible
from rye.text.frontmatter import frontmatter_end
from rye.text.line_form import is_blank, read_form, split_lines, trimmed
from rye.text.markdown_sections import blocks_of, sections

CLOSER = "<!-- END DIRECTIVE -->"
ESCAPED_CLOSER = "<!-- END DIRECTIVE\u200b -->"
METADATA_END = "-->"

BODY_OPERATIONS = ("replace", "append", "prepend", "insert-before", "insert-after")
FRONTMATTER_OPERATIONS = ("frontmatter-set", "frontmatter-delete")
OPERATIONS = BODY_OPERATIONS + FRONTMATTER_OPERATIONS
METADATA_KEYS = ("target", "key", "reason", "position")
REQUIRED_FIELDS = ("agent", "base-version", "last-reviewed")

_OPENER = "<!-- DIRECTIVE:"
_METADATA_LINE = re.compile(r"([^:]*):(?:[ \t]+(.*))?")
_KEY = re.compile(r"[a-zA-Z0-9_-]+")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@cache
def _almost_opener() -> re.Pattern[str]:
    return re.compile(r"[ \t]*<!--[ \t]*directive[ \t]*:", re.IGNORECASE)


class Directive(Struct, frozen=True, kw_only=True):
    """A well-formed directive. ``line``: line of its opener. ``content``: unescaped, without blank lines at either end."""

    operation: str
    line: int
    reason: str
    target: str | None = None
    """As written; None for frontmatter operations."""
    path: tuple[Selector, ...] = ()
    key: str | None = None
    content: tuple[str, ...] = ()
    content_line: int = 0
    """The line that ``content`` begins on; 0 if there is none."""


class OverrideFile(Struct, frozen=True):
    """The content of one overrides file."""

    agent: str
    base_version: str
    last_reviewed: date
    directives: tuple[Directive, ...]


class OverrideReading(Struct, frozen=True):
    """``file`` is None if the overrides file is rejected. Diagnostics are in the order of the file."""

    file: OverrideFile | None
    diagnostics: tuple[Diagnostic, ...]


def opener_operation(line: str) -> str | None:
    """The operation of an opener line (it can be empty or unknown); None if the line is not an opener."""
    if not line.startswith(_OPENER):
        return None
    rest = line.rstrip(" \t")[len(_OPENER) :]
    return rest[1:] if rest.startswith(" ") else None if rest else ""


def is_closer(line: str) -> bool:
    """Whether a line closes a directive."""
    return line.startswith(CLOSER) and line.rstrip(" \t") == CLOSER


def read_overrides(text: str) -> OverrideReading:
    """Read an overrides file. Never raises for invalid content."""
    lines, _ = split_lines(read_form(text)[0])
    return _Reader(lines).read()


class TooDeep(ValueError):
    """Quotes and lists in the preamble are nested too deep to find its code fences. ``index``: the line, from 0."""

    def __init__(self, index: int):
        super().__init__(f"quotes and lists are nested more than {CONTENT.markdown_depth} deep")
        self.index = index


def first_opener(lines: list[str], start: int) -> int:
    """The index of the first opener outside code fences, or ``len(lines)``. Raises TooDeep."""
    openers = (index for index in range(start, len(lines)) if opener_operation(lines[index]) is not None)
    first = next(openers, None)
    if first is None:
        return len(lines)
    if not any("```" in line or "~~~" in line for line in lines[start:first]):
        return first  # no line before it can open a fence
    found = blocks_of(lines, start)
    fences = iter([(start + fence.line - 1, start + fence.end_line) for fence in found.fences])
    fence = next(fences, None)
    for index in (first, *openers):
        if found.too_deep is not None and index >= start + found.too_deep - 1:
            raise TooDeep(start + found.too_deep - 1)
        while fence is not None and fence[1] <= index:
            fence = next(fences, None)
        if fence is None or index < fence[0]:
            return index
    return len(lines)


def is_old_format(lines: list[str], start: int) -> bool:
    """Whether a file is in the old format: it has an H2 section outside fences and comments, and no opener anywhere. Even an
    opener in an example, or a misspelled one, means that the file is in the new format."""
    if any(opener_operation(line) is not None or _almost_opener().match(line) for line in lines[start:]):
        return False
    return any(block.level == 2 for block in sections(lines, start).blocks)


class _Reader:
    """One pass over one file's lines."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._found: list[Diagnostic] = []
        self._directives: list[Directive] = []

    def _report(self, severity: str, code: str, message: str, index: int | None, hint: str | None = None) -> None:
        line = None if index is None else index + 1
        self._found.append(Diagnostic(severity, code, message, line, hint=hint))  # type: ignore[arg-type]

    def _error(self, code: str, message: str, index: int | None, hint: str | None = None) -> None:
        self._report("error", code, message, index, hint)

    def read(self) -> OverrideReading:
        end = frontmatter_end(self._lines)
        if is_old_format(self._lines, end or 0):
            self._error(
                "old-format",
                "The file is in the old format: plain H2 sections and no directives.",
                None,
                "rye merge --migrate-legacy OVERRIDES -o OUT converts it to the new format.",
            )
            return OverrideReading(None, tuple(self._found))
        if end is None:
            self._error(
                "no-frontmatter",
                "The file has no frontmatter, so nothing says what it is for.",
                0,
                f"Start it with a '---' line, {', '.join(REQUIRED_FIELDS)}, and another '---' line.",
            )
            return OverrideReading(None, tuple(self._found))
        fields = self._fields(end)
        if fields is None:
            return OverrideReading(None, tuple(self._found))
        try:
            opener = first_opener(self._lines, end)
        except TooDeep as error:
            self._error("nested-too-deep", f"The preamble cannot be read: {error}.", error.index, "Flatten it.")
            return OverrideReading(None, tuple(self._found))
        self._body(opener, end)
        agent, base_version, reviewed = fields
        file = OverrideFile(agent, base_version, reviewed, tuple(self._directives))
        return OverrideReading(file, tuple(self._found))

    # Frontmatter

    def _fields(self, end: int) -> tuple[str, str, date] | None:
        """Agent, base version and review date; None, with errors, if the file must be rejected."""
        try:
            frontmatter = read_frontmatter(self._lines[1 : end - 1])
        except FrontmatterError as error:
            at = 0 if error.line is None else error.line + 1
            self._error("bad-frontmatter", f"The frontmatter cannot be read: {visible(str(error))}.", at)
            return None
        values: dict[str, str] = {}
        for key in REQUIRED_FIELDS:
            entry = frontmatter.get(key)
            if entry is not None and entry.scalar is not None:
                values[key] = entry.scalar
            else:
                at = 0 if entry is None or entry.line is None else entry.line + 1
                self._error("missing-field", f"The frontmatter has no {key!r}.", at, f"Add '{key}: …' to it.")
        for entry in frontmatter.entries:
            if entry.key is not None and entry.key not in REQUIRED_FIELDS:
                at = (entry.line or 0) + 1
                message = f"{visible(entry.key)!r} in the frontmatter is not a known key."
                self._report("notice", "unknown-field", message, at, _did_you_mean(entry.key, REQUIRED_FIELDS))
        if has_errors(self._found):
            return None
        reviewed = _as_date(values["last-reviewed"])
        if reviewed is None:
            entry = frontmatter.get("last-reviewed")
            message = f"'last-reviewed' is {visible(values['last-reviewed'])!r}, not a date."
            self._error("bad-date", message, (entry.line or 0) + 1 if entry else 0, "Write it as YYYY-MM-DD.")
            return None
        return values["agent"], values["base-version"], reviewed

    # Directives

    def _body(self, index: int, start: int) -> None:
        for at in range(start, index):
            if opener_operation(self._lines[at]) is None and _almost_opener().match(self._lines[at]):
                message = "The line looks like a directive's first line but is not one, so it is text."
                hint = "Write '<!-- DIRECTIVE: operation' from the line's start, in this case and spacing."
                self._report("notice", "almost-directive", message, at, hint)
        previous: Directive | None = None
        while index < len(self._lines):
            if opener_operation(self._lines[index]) is None:
                index = self._between(index, previous)
                continue
            count = len(self._directives)
            index = self._directive(index)
            previous = self._directives[-1] if len(self._directives) > count else None

    def _between(self, index: int, previous: Directive | None) -> int:
        """Check the text up to the next opener. Return the opener's index."""
        text = stray = None
        while index < len(self._lines) and opener_operation(self._lines[index]) is None:
            line = self._lines[index]
            if stray is None and CLOSER in line:
                stray = index
            if text is None and not is_blank(line):
                text = index
            index += 1
        if stray is not None:
            dropped = ""
            if previous is not None and self._directives and self._directives[-1] is previous:
                self._directives.pop()
                dropped = f" The directive of line {previous.line} is dropped, because it may have ended too early."
            self._error("stray-closer", f"A closing line follows the end of a directive.{dropped}", stray, _ESCAPE_HINT)
        elif text is not None:
            self._report("notice", "text-between", "Text between directives is ignored.", text)
        return index

    def _directive(self, opener: int) -> int:
        """Read the directive that starts at ``opener``, and add it if it is well-formed. Return the index after it."""
        operation = opener_operation(self._lines[opener]) or ""
        good = operation in OPERATIONS
        if not good:
            hint = _did_you_mean(operation, OPERATIONS) or f"Operations: {', '.join(OPERATIONS)}."
            self._error("unknown-operation", f"{visible(operation)!r} is not an operation.", opener, hint)
        fields: dict[str, tuple[str, int]] = {}
        index = opener + 1
        broken = not good
        while index < len(self._lines) and self._lines[index].rstrip(" \t") != METADATA_END:
            line = self._lines[index]
            if opener_operation(line) is not None:
                return self._nested(opener, index)
            if is_closer(line):
                if not broken:
                    self._error("bad-metadata", "The metadata does not end with a line '-->'.", opener)
                return index + 1
            if METADATA_END in line:
                if not broken:
                    hint = "Put '-->' on a line of its own; inside a quoted value write it as \"--\\x3E\"."
                    self._error("bad-metadata", "A metadata line contains '-->'.", index, hint)
                broken = True
            elif not broken:
                good = self._metadata_line(line, index, fields) and good
            index += 1
        if index >= len(self._lines):
            return self._unclosed(opener)
        content: list[str] = []
        index += 1
        start = index
        while index < len(self._lines) and not is_closer(self._lines[index]):
            line = self._lines[index]
            if opener_operation(line) is not None:
                return self._nested(opener, index)
            if CLOSER in line:
                if good and not broken:
                    message = "The closing delimiter is part of a longer line, so the directive is dropped."
                    self._error("closer-in-content", message, index, _ESCAPE_HINT)
                broken = True
            content.append(line.replace(ESCAPED_CLOSER, CLOSER))
            index += 1
        if index >= len(self._lines):
            return self._unclosed(opener)
        if good and not broken:
            directive = self._checked(operation, opener, fields, content, start)
            if directive is not None:
                self._directives.append(directive)
                self._zero_width(content, start)
        return index + 1

    def _nested(self, opener: int, index: int) -> int:
        message = f"Another directive begins on line {index + 1} before this one is closed; this one is dropped."
        self._error("nested-directive", message, opener, f"Close it with a line '{CLOSER}'.")
        return index

    def _unclosed(self, opener: int) -> int:
        message = "The file ends before the directive is closed, so it is dropped."
        self._error("unclosed-directive", message, opener, f"Close it with a line '{CLOSER}'.")
        return len(self._lines)

    def _zero_width(self, content: list[str], start: int) -> None:
        for offset, line in enumerate(content):
            if "\u200b" in line:
                message = "The content contains a zero-width space outside the escape of the closing line. It is kept."
                self._report("notice", "zero-width-space", message, start + offset)
                return

    def _metadata_line(self, line: str, index: int, fields: dict[str, tuple[str, int]]) -> bool:
        """Parse one metadata line into ``fields``. Return False, with an error, if it is malformed."""
        match = _METADATA_LINE.fullmatch(line)
        if match is None:
            what = "A blank line" if is_blank(line) else "A line that is not 'key: value'"
            self._error("bad-metadata", f"{what} in the metadata.", index)
            return False
        key, raw = match[1], (match[2] or "").strip(" \t")
        if key not in METADATA_KEYS:
            hint = _did_you_mean(key, METADATA_KEYS) or f"Keys: {', '.join(METADATA_KEYS)}."
            self._error("bad-metadata", f"{visible(key)!r} is not a metadata key.", index, hint)
            return False
        if key in fields:
            self._error("bad-metadata", f"Duplicate key {key!r}.", index)
            return False
        if raw[:1] in ("'", '"'):
            try:
                raw = scalar_text(raw)
            except FrontmatterError as error:
                self._error("bad-metadata", f"The value of {key!r} is badly quoted: {visible(str(error))}.", index)
                return False
        fields[key] = (raw, index)
        return True

    def _checked(
        self, operation: str, opener: int, fields: dict[str, tuple[str, int]], content: list[str], start: int
    ) -> Directive | None:
        """The directive if its fields fit its operation (DECISIONS Overrides 2, 17), otherwise None, with errors."""
        before = len(self._found)
        on_frontmatter = operation in FRONTMATTER_OPERATIONS
        wanted = "key" if on_frontmatter else "target"
        foreign = "target" if on_frontmatter else "key"
        for key in (wanted, "reason"):
            if key not in fields:
                self._error("missing-metadata", f"{operation} needs {key!r}.", opener, f"Add a line '{key}: …' to it.")
            elif is_blank(fields[key][0].replace("\n", "")):
                self._error("bad-metadata", f"{key!r} is empty.", fields[key][1])
        if foreign in fields:
            self._error("bad-metadata", f"{operation} does not accept {foreign!r}.", fields[foreign][1])
        if "position" in fields:
            position, index = fields["position"]
            if operation not in ("insert-before", "insert-after"):
                self._error("bad-metadata", f"{operation} does not accept 'position'.", index)
            elif position != operation.removeprefix("insert-"):
                message = f"The position {visible(position)!r} contradicts {operation}."
                self._error("bad-metadata", message, index, "Leave 'position' out, or make it match.")
        if len(self._found) > before:
            return None
        value, index = fields[wanted]
        reason = fields["reason"][0]
        lines = trimmed(content)
        first = start + next((at for at, line in enumerate(content) if not is_blank(line)), 0) + 1 if lines else 0
        if on_frontmatter:
            return self._frontmatter_directive(operation, opener, value, index, reason, lines, first)
        try:
            path = parse_heading_path(value)
        except HeadingPathError as error:
            hint = "Write it as in '## Section' or '# Chapter > ## Section'."
            self._error("bad-target", f"The target is not a heading path: {error}.", index, hint)
            return None
        return Directive(
            operation=operation,
            line=opener + 1,
            reason=reason,
            target=value,
            path=path,
            content=tuple(lines),
            content_line=first,
        )

    def _frontmatter_directive(
        self, operation: str, opener: int, key: str, index: int, reason: str, content: list[str], first: int
    ) -> Directive | None:
        if not _KEY.fullmatch(key):
            hint = "Keys are letters, digits, '-' and '_'."
            self._error("bad-key", f"{visible(key)!r} is not a frontmatter key.", index, hint)
            return None
        if operation == "frontmatter-set" and not content:
            self._error("empty-value", "frontmatter-set needs a value.", opener, "Write the YAML value as its content.")
            return None
        if operation == "frontmatter-delete" and content:
            message = "frontmatter-delete does not accept content."
            self._error("unexpected-content", message, opener, "Did you mean frontmatter-set?")
            return None
        return Directive(
            operation=operation, line=opener + 1, reason=reason, key=key, content=tuple(content), content_line=first
        )


_ESCAPE_HINT = "To write it as text, put U+200B (zero-width space) between DIRECTIVE and the space before '-->'."


def _did_you_mean(word: str, words: tuple[str, ...]) -> str | None:
    close = get_close_matches(word.lower()[:64], words, 1)
    return f"Did you mean {close[0]!r}?" if close else None


def _as_date(text: str) -> date | None:
    if not _DATE.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
