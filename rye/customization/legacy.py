"""Migrate the old overrides format, plain H2 sections that replace sections of the same name, to directives
(DECISIONS Overrides 6, 19).

Each H2 becomes a ``replace``, in order. Frontmatter keys that the new format does not reserve become ``frontmatter-set``, since
in the old format they replaced the target's. Text before the first H2 becomes the preamble. Nothing is lost silently: anything
that cannot be written as a directive is an error, and text that the old format never applied is reported.
"""

from __future__ import annotations

import re
from datetime import date

from msgspec import Struct

from rye.customization.frontmatter_editing import Frontmatter, FrontmatterError, read_frontmatter
from rye.customization.heading_path import HeadingPathError, Selector, parse_heading_path
from rye.customization.override_file import (
    CLOSER,
    ESCAPED_CLOSER,
    METADATA_END,
    REQUIRED_FIELDS,
    TooDeep,
    first_opener,
    opener_operation,
)
from rye.limits import CONTENT
from rye.text.diagnostics import Diagnostic, has_errors
from rye.text.display import visible
from rye.text.frontmatter import frontmatter_end
from rye.text.line_form import is_blank, read_form, split_lines, trimmed
from rye.text.markdown_sections import Block
from rye.text.markdown_sections import sections as sections_of

UNKNOWN_VERSION = "unknown"
NEVER_REVIEWED = date(1970, 1, 1)
REASON = "Migrated from the old format"

_KEY = re.compile(r"[a-zA-Z0-9_-]+")


class Migration(Struct, frozen=True):
    """``output``: the file in the new format. None if a diagnostic is an error: do not write a file then."""

    output: str | None
    diagnostics: tuple[Diagnostic, ...]
    replaced: tuple[str, ...] = ()
    """The targets of the ``replace`` directives."""


def migrate_legacy(
    text: str, *, agent: str | None = None, base_version: str | None = None, today: date | None = None
) -> Migration:
    """Rewrite an old overrides file as directives.

    ``agent`` (the name of the file's folder), ``base_version`` and ``today`` (the review date) are used where its frontmatter
    has no value. The default version is ``unknown`` and the default date 1970-01-01, so that a merge asks for a review.
    """
    body, form = read_form(text)
    lines, _ = split_lines(body)
    end = frontmatter_end(lines)
    start = end or 0
    diagnostics: list[Diagnostic] = []
    try:
        opener = first_opener(lines, start)
    except TooDeep as error:
        return Migration(None, (_too_deep(error.index),))
    if opener < len(lines):
        message = "The file has directives: it is in the new format already."
        return Migration(None, (Diagnostic("error", "not-old-format", message, opener + 1),))
    try:
        frontmatter = read_frontmatter(lines[1 : start - 1]) if end else Frontmatter([])
    except FrontmatterError as error:
        message = f"The frontmatter cannot be read: {visible(str(error))}."
        return Migration(None, (Diagnostic("error", "bad-frontmatter", message, 1),))
    head = _head(frontmatter, agent, base_version, today, diagnostics)
    directives = _frontmatter_directives(frontmatter, diagnostics)
    preamble, sections, targets = _sections(lines, start, diagnostics)
    if not targets and not has_errors(diagnostics):
        diagnostics.append(Diagnostic("error", "not-old-format", "The file has no H2 section to migrate."))
    if has_errors(diagnostics):
        return Migration(None, tuple(diagnostics))
    count = f"{len(targets)} H2 section{'' if len(targets) == 1 else 's'}"
    message = f"Wrote {count} as 'replace' directives; give each a reason that says why it is there."
    diagnostics.append(Diagnostic("notice", "migrated", message))
    parts = [head, *([preamble] if preamble else []), *directives, *sections]
    output = "\n\n".join("\n".join(part) for part in parts) + "\n"
    return Migration(form.write(output), tuple(diagnostics), tuple(targets))


def _head(
    frontmatter: Frontmatter, agent: str | None, base_version: str | None, today: date | None, found: list[Diagnostic]
) -> list[str]:
    """The new frontmatter, with its ``---`` lines."""

    def said(*keys: str) -> str | None:
        entries = (frontmatter.get(key) for key in keys)
        return next((entry.scalar for entry in entries if entry and entry.scalar), None)

    name = said("agent", "name") or agent
    if name is None:
        message = "Nothing says which agent the overrides are for."
        found.append(Diagnostic("error", "no-agent", message, hint="Add 'agent: NAME' to the file's frontmatter."))
        return []
    version = said("base-version", "x-plan-version", "version") or base_version
    if version is None:
        version = UNKNOWN_VERSION
        message = (
            f"The version that the overrides were written for is not known; 'base-version' is {UNKNOWN_VERSION!r}."
        )
        found.append(Diagnostic("warning", "unknown-base-version", message))
    reviewed = said("last-reviewed") or (today or NEVER_REVIEWED).isoformat()
    values = zip(REQUIRED_FIELDS, (name, version, reviewed), strict=True)
    return ["---", *(f"{key}: {quoted(value)}" for key, value in values), "---"]


def _frontmatter_directives(frontmatter: Frontmatter, found: list[Diagnostic]) -> list[list[str]]:
    directives: list[list[str]] = []
    for entry in frontmatter.entries:
        if entry.key is None or entry.key in (*REQUIRED_FIELDS, "name"):
            continue
        line = (entry.line or 0) + 2
        value = trimmed(value_lines(entry.lines))
        if not _KEY.fullmatch(entry.key) or not value or any(breaks_out(each) for each in value):
            message = f"The frontmatter key {visible(entry.key)!r} cannot be written as a directive."
            found.append(Diagnostic("error", "cannot-migrate", message, line, hint="Remove it and set it by hand."))
            continue
        directives.append(directive_lines("frontmatter-set", f"key: {entry.key}", value))
    return directives


def value_lines(lines: list[str]) -> list[str]:
    """An entry's lines without its key. The first line is what follows the colon on the key's line."""
    key_line = lines[0].lstrip(" ")
    if key_line[0] in "'\"":
        after = key_line.index(key_line[0], 1) + 1
    else:
        after = 0
    behind = key_line[key_line.index(":", after) + 1 :].strip(" \t")
    return [behind, *lines[1:]]


def _sections(lines: list[str], start: int, found: list[Diagnostic]) -> tuple[list[str], list[list[str]], list[str]]:
    """The preamble, one directive for each H2 section, and the directives' targets."""
    preamble: list[str] = []
    sections: list[list[str]] = []
    targets: list[str] = []
    seen: set[str] = set()
    read = sections_of(lines, start)
    if read.too_deep is not None:
        found.append(_too_deep(read.too_deep))
    blocks = read.blocks
    at = 0
    while at < len(blocks):
        block = blocks[at]
        at += 1
        if block.level != 2:
            kept = lines[block.start : block.end]
            if not sections:
                preamble.extend(kept)
            elif not all(map(is_blank, kept)):
                message = "Text outside the H2 sections was never applied; it is left out."
                found.append(Diagnostic("warning", "text-left-out", message, block.start + 1))
            continue
        end = block.end
        while at < len(blocks) and blocks[at].level > 2:
            end = blocks[at].end
            at += 1
        section = _section(block, lines[block.start : end], found)
        if section is None:
            continue
        target = str(Selector(2, block.text))
        if target in seen:
            message = f"{visible(target)!r} is a duplicate; the later section overwrites the earlier one."
            found.append(Diagnostic("warning", "repeated-section", message, block.start + 1))
        seen.add(target)
        targets.append(target)
        sections.append(section)
    return trimmed(preamble), sections, targets


def _too_deep(index: int) -> Diagnostic:
    message = f"Quotes and lists are nested more than {CONTENT.markdown_depth} deep, so the sections cannot be found."
    return Diagnostic("error", "nested-too-deep", message, index + 1, hint="Flatten them.")


def _section(block: Block, lines: list[str], found: list[Diagnostic]) -> list[str] | None:
    """One section as a ``replace`` directive; None, with an error in ``found``, if it cannot be written as one."""
    target = str(Selector(2, block.text))
    try:
        addressable = parse_heading_path(target) == (Selector(2, block.text),)
    except HeadingPathError:
        addressable = False
    opener = next((offset for offset, line in enumerate(lines) if opener_operation(line) is not None), None)
    if not addressable:
        message = f"{visible(target)!r} cannot be the target of a directive."
        found.append(Diagnostic("error", "cannot-migrate", message, block.start + 1))
        return None
    if opener is not None:
        message = "A directive's content cannot contain a line that opens a directive."
        hint = "Put a space in front of it."
        found.append(Diagnostic("error", "cannot-migrate", message, block.start + opener + 1, hint=hint))
        return None
    if any(ESCAPED_CLOSER in line for line in lines):
        message = "The section contains the escaped closing delimiter, which a directive's content cannot express."
        found.append(Diagnostic("error", "cannot-migrate", message, block.start + 1))
        return None
    written = quoted(target) if METADATA_END in target else target
    return directive_lines(
        "replace", f"target: {written}", [line.replace(CLOSER, ESCAPED_CLOSER) for line in trimmed(lines)]
    )


def directive_lines(operation: str, where: str, content: list[str], reason: str = REASON) -> list[str]:
    """The lines of one directive. ``where``: its ``target: …`` or ``key: …`` line."""
    return [f"<!-- DIRECTIVE: {operation}", where, f"reason: {reason}", METADATA_END, *content, CLOSER]


def breaks_out(line: str) -> bool:
    """Whether a line of content would end its directive or open another."""
    return CLOSER in line or ESCAPED_CLOSER in line or opener_operation(line) is not None


def quoted(text: str) -> str:
    """A YAML double-quoted scalar on one line, without ``-->`` in it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("-->", "--\\x3E").replace("\t", "\\t")
    return f'"{escaped}"'
