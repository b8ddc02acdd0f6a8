"""Recover an overrides file from the result of an old merge: compare the target with its merged text and write the differences
as directives (DECISIONS "Every kind" 8).

The old merge replaced H2 sections and also added its own frontmatter keys, so its overrides file does not show all changes.
Here the texts themselves are compared: frontmatter keys, then sections down to H2. The result is verified: merging it into the
target must give the merged text, byte for byte; otherwise nothing is returned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date

from msgspec import Struct

from rye.customization.frontmatter_editing import Frontmatter, FrontmatterError, read_frontmatter
from rye.customization.heading_path import HeadingPathError, Selector, parse_heading_path, path_text
from rye.customization.legacy import (
    NEVER_REVIEWED,
    UNKNOWN_VERSION,
    Migration,
    breaks_out,
    directive_lines,
    quoted,
    value_lines,
)
from rye.customization.merge import drift, merge
from rye.customization.override_file import CLOSER, ESCAPED_CLOSER, METADATA_END, REQUIRED_FIELDS, opener_operation
from rye.limits import CONTENT
from rye.text.diagnostics import Diagnostic
from rye.text.display import visible
from rye.text.frontmatter import frontmatter_end
from rye.text.line_form import read_form, split_lines, trimmed
from rye.text.markdown_sections import sections

REASON = "Recovered from the old merge's result"
_DEEPEST = 2
"""The deepest level of sections that are compared: H2, as in the old format."""


class _Cannot(Exception):
    """A difference that no directive can express. ``line``: its line in the merged text; None: not a single line."""

    def __init__(self, message: str, line: int | None = None, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.line = line
        self.hint = hint


class _Section(Struct):
    """A heading with its lines up to the next compared section, and the compared sections inside it."""

    selector: Selector
    line: int
    lines: list[str]
    children: list[_Section]

    def whole(self) -> list[str]:
        """Its lines, including those of the sections inside it."""
        return [*self.lines, *(line for child in self.children for line in child.whole())]


class _Text(Struct):
    frontmatter: Frontmatter
    body: _Section


def recover(base: str, effective: str, *, name: str | None = None, today: date | None = None) -> Migration:
    """The overrides file that turns ``base`` into ``effective``. Both have the line endings and BOM of their files.

    ``name``: the target's name if its frontmatter has no ``name``. ``today``: the review date. If there is nothing to recover,
    or the result cannot be verified, there is no output, and a diagnostic (its line is one of ``effective``) says why.
    """
    try:
        old, new = _read(base, "the original"), _read(effective, "the merged text")
        directives = [*_frontmatter(old.frontmatter, new.frontmatter), *_sections(old.body, new.body, ())]
        head = _head(old.frontmatter, name, today)
    except FrontmatterError as error:
        return _failed("bad-frontmatter", f"The frontmatter cannot be read: {visible(str(error))}.")
    except _Cannot as error:
        return _failed("cannot-migrate", error.message, error.line, error.hint)
    if not directives:
        return _failed("nothing-to-recover", "The texts do not differ in anything that overrides can change.")
    parts = [head, ["What an old merge made of this item, as directives."], *directives]
    output = "\n\n".join("\n".join(part) for part in parts) + "\n"
    result = merge(base, output, base_name=name)
    difference = drift(result.output or "", effective, merged_name="merged again", actual_name="given")
    if difference is not None:
        shown = "\n".join(difference.split("\n")[:20])
        return _failed("round-trip", f"Merging the result does not give the merged text back:\n{shown}")
    count = f"{len(directives)} directive{'' if len(directives) == 1 else 's'}"
    message = f"Wrote {count}; merging them gives the merged text back. Give each a reason that says why it is there."
    return Migration(output, (Diagnostic("notice", "migrated", message),))


def _failed(code: str, message: str, line: int | None = None, hint: str | None = None) -> Migration:
    return Migration(None, (Diagnostic("error", code, message, line, hint=hint),))


# Reading.


def _read(text: str, which: str) -> _Text:
    lines, _ = split_lines(read_form(text)[0])
    end = frontmatter_end(lines)
    frontmatter = read_frontmatter(lines[1 : end - 1]) if end else Frontmatter([])
    root = _Section(Selector(0, ""), (end or 0) + 1, [], [])
    open_: list[_Section] = [root]
    found = sections(lines, end or 0)
    if found.too_deep is not None:
        message = (
            f"Line {found.too_deep + 1} of {which} nests quotes and lists more than {CONTENT.markdown_depth} deep."
        )
        raise _Cannot(message, hint="Flatten them.")
    for block in found.blocks:
        own = lines[block.start : block.end]
        if block.level == 0 or block.level > _DEEPEST:
            open_[-1].lines += own
            continue
        while open_[-1].selector.level >= block.level:
            open_.pop()
        section = _Section(Selector(block.level, block.text), block.start + 1, own, [])
        open_[-1].children.append(section)
        open_.append(section)
    return _Text(frontmatter, root)


def _head(frontmatter: Frontmatter, name: str | None, today: date | None) -> list[str]:
    def said(*keys: str) -> str | None:
        entries = (frontmatter.get(key) for key in keys)
        return next((entry.scalar for entry in entries if entry and entry.scalar), None)

    agent = said("name") or name
    if agent is None:
        raise _Cannot("Nothing says what the target is called.", hint="Add 'name: NAME' to its frontmatter.")
    values = (agent, said("x-plan-version", "version") or UNKNOWN_VERSION, (today or NEVER_REVIEWED).isoformat())
    return ["---", *(f"{key}: {quoted(value)}" for key, value in zip(REQUIRED_FIELDS, values, strict=True)), "---"]


# Comparing.


def _frontmatter(old: Frontmatter, new: Frontmatter) -> Iterator[list[str]]:
    for entry in new.entries:
        before = old.get(entry.key) if entry.key is not None else None
        if entry.key is None or (before is not None and before.lines == entry.lines):
            continue
        value = trimmed(value_lines(entry.lines))
        if not value or any(breaks_out(line) for line in value):
            raise _Cannot(f"The frontmatter key {visible(entry.key)!r} cannot be written as a directive.")
        yield directive_lines("frontmatter-set", f"key: {entry.key}", value, REASON)
    for entry in old.entries:
        if entry.key is not None and new.get(entry.key) is None:
            yield directive_lines("frontmatter-delete", f"key: {entry.key}", [], REASON)


def _sections(old: _Section, new: _Section, path: tuple[Selector, ...]) -> Iterator[list[str]]:
    """The directives that turn ``old``, the section at ``path``, into ``new``."""
    if trimmed(old.whole()) == trimmed(new.whole()):
        return
    names, wanted = [each.selector for each in old.children], [each.selector for each in new.children]
    in_order = [name for name in wanted if name in names] == [name for name in names if name in wanted]
    if trimmed(old.lines) != trimmed(new.lines) or _repeated(names) or _repeated(wanted) or not in_order:
        if not path:
            message = "The text before the first heading, or the order of the top sections, also changed."
            raise _Cannot(message, new.line, "Merge that change by hand.")
        yield _directive("replace", path, new.whole(), new.line)
        return
    present = {each.selector: each for each in old.children}
    for index, child in enumerate(new.children):
        before = present.get(child.selector)
        if before is not None:
            yield from _sections(before, child, (*path, child.selector))
            continue
        anchor = next((name for name in reversed(wanted[:index]) if name in present), None)
        if anchor is not None:
            yield _directive("insert-after", (*path, anchor), child.whole(), child.line)
        elif names:
            yield _directive("insert-before", (*path, names[0]), child.whole(), child.line)
        elif path:
            yield _directive("append", path, child.whole(), child.line)
        else:
            raise _Cannot("The target has no heading that a section could be put next to.", child.line)
    for gone in old.children:
        if gone.selector not in wanted:
            yield _directive("replace", (*path, gone.selector), [], gone.line)


def _repeated(names: Sequence[Selector]) -> bool:
    return max(Counter(names).values(), default=0) > 1


def _directive(operation: str, path: tuple[Selector, ...], lines: list[str], line: int) -> list[str]:
    target = path_text(path)
    try:
        addressable = parse_heading_path(target) == path
    except HeadingPathError:
        addressable = False
    if not addressable:
        raise _Cannot(f"{visible(target)!r} cannot be the target of a directive.", line)
    for number, each in enumerate(lines, line):
        if opener_operation(each) is not None or ESCAPED_CLOSER in each:
            message = (
                "The line opens a directive or escapes the end of one, which a directive's content cannot express."
            )
            raise _Cannot(message, number)
    written = quoted(target) if METADATA_END in target else target
    content = [each.replace(CLOSER, ESCAPED_CLOSER) for each in trimmed(lines)]
    return directive_lines(operation, f"target: {written}", content, REASON)
