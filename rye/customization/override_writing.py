"""Write overrides files: create a file, add a directive, and find the section of the base that a new directive starts with.

A new directive changes nothing until someone edits it: ``replace`` starts with the current section, the others without content.
What is written reads back unchanged: the closing line is escaped, and text that a directive cannot contain is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from difflib import get_close_matches

from rye.customization.frontmatter_editing import FrontmatterError, read_frontmatter
from rye.customization.heading_path import HeadingPathError, Selector, parse_heading_path, path_text
from rye.customization.override_file import (
    BODY_OPERATIONS,
    CLOSER,
    ESCAPED_CLOSER,
    METADATA_END,
    opener_operation,
    read_overrides,
)
from rye.errors import RyeError, UsageError
from rye.limits import CONTENT
from rye.text.display import visible
from rye.text.frontmatter import frontmatter_end
from rye.text.line_form import read_form, split_lines, trimmed
from rye.text.markdown_sections import Block, sections

UNKNOWN_VERSION = "unknown"


def described(base: str, name: str, version: str | None) -> tuple[str, str]:
    """The values of 'agent' and 'base-version' for ``base``: from its frontmatter, otherwise ``name`` and ``version``."""
    lines, _ = split_lines(read_form(base)[0])
    end = frontmatter_end(lines)
    if end is not None:
        try:
            frontmatter = read_frontmatter(lines[1 : end - 1])
        except FrontmatterError:
            return name, version or UNKNOWN_VERSION
        found = {key: entry.scalar for key in ("name", "x-plan-version", "version") if (entry := frontmatter.get(key))}
        name = found.get("name") or name
        version = found.get("x-plan-version") or found.get("version") or version
    return name, version or UNKNOWN_VERSION


def new_file(agent: str, base_version: str, reviewed: date) -> str:
    """A complete overrides file that changes nothing."""
    fields = {"agent": agent, "base-version": base_version, "last-reviewed": reviewed.isoformat()}
    head = "\n".join(f"{key}: {_quoted(value)}" for key, value in fields.items())
    return f"---\n{head}\n---\n\nWhat is changed here and why, for reviewers.\n"


def _quoted(text: str) -> str:
    """A YAML double-quoted scalar on one line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("\n", "\\n")
    return f'"{escaped}"'


def section_of(base: str, target: str) -> list[str]:
    """The lines of the section that the heading path ``target`` names, with its subsections, without blank lines at the ends.

    Raises UsageError ``bad-target``, RyeError ``no-such-entry`` (its hint suggests similar headings) and RyeError
    ``nested-too-deep``.
    """
    try:
        path = parse_heading_path(target)
    except HeadingPathError as error:
        hint = "Write it as in '## Section' or '# Chapter > ## Section'."
        raise UsageError("bad-target", f"{target!r} is not a heading path: {error}.", hint) from None
    lines, _ = split_lines(read_form(base)[0])
    found = sections(lines, frontmatter_end(lines) or 0)
    if found.too_deep is not None:
        message = f"Line {found.too_deep + 1} nests quotes and lists more than {CONTENT.markdown_depth} deep"
        message += ", so the headings cannot be found."
        raise RyeError("nested-too-deep", message, "Flatten the quotes and lists there.")
    blocks = [block for block in found.blocks if block.level]
    low, high = 0, len(blocks)
    for selector in path:
        at = next((i for i in range(low, high) if Selector(blocks[i].level, blocks[i].text) == selector), None)
        if at is None:
            raise _unknown_section(path, blocks)
        low = at + 1
        high = next((i for i in range(low, high) if blocks[i].level <= blocks[at].level), high)
    return trimmed(lines[blocks[low - 1].start : blocks[high - 1].end])


def _unknown_section(path: tuple[Selector, ...], blocks: Sequence[Block]) -> RyeError:
    headings = list(dict.fromkeys(str(Selector(block.level, block.text)) for block in blocks))[:2000]
    near = get_close_matches(str(path[-1])[:200], headings, 3, 0.5)
    if near:
        hint = f"Did you mean {' or '.join(repr(visible(heading)) for heading in near)}?"
    else:
        hint = f"Headings: {', '.join(visible(heading) for heading in headings[:20]) or 'none'}."
    return RyeError(
        "no-such-entry", f"There is no section {visible(path_text(path))!r} in the item.", hint, what="section"
    )


def directive_text(operation: str, where: str, reason: str, content: Sequence[str] = ()) -> str:
    """One directive. ``where``: a heading path or a frontmatter key.

    Raises UsageError ``bad-argument``, and RyeError for content that a directive cannot contain.
    """
    if not reason.strip() or not reason.isprintable():
        raise UsageError(
            "bad-argument", "A reason is one line of printable text.", "Say why the change is there.", what="reason"
        )
    for line in content:
        if opener_operation(line) is not None or ESCAPED_CLOSER in line:
            message = "The section contains a directive, which an override's content cannot."
            raise RyeError("cannot-override", message, "Override its subsections one by one.")
    field = "target" if operation in BODY_OPERATIONS else "key"
    metadata = [f"{field}: {_metadata(where)}", f"reason: {_metadata(reason.strip())}"]
    body = [line.replace(CLOSER, ESCAPED_CLOSER) for line in content]
    return "\n".join([f"<!-- DIRECTIVE: {operation}", *metadata, METADATA_END, *body, CLOSER]) + "\n"


def _metadata(text: str) -> str:
    """A metadata value, quoted if it would otherwise be read differently or end the metadata."""
    if "-->" in text or text[:1] in ("'", '"') or text != text.strip():
        return _quoted(text).replace("-->", "--\\x3E")
    return text


def with_directive(existing: str, directive: str) -> str:
    """``existing`` with the directive at its end, with the file's line endings. Raises UsageError if the file is rejected."""
    reading = read_overrides(existing)
    if reading.file is None:
        first = next(finding for finding in reading.diagnostics if finding.severity == "error")
        raise UsageError("rejected-overrides", f"The overrides file is rejected: {first.message}", first.hint)
    text, form = read_form(existing)
    return form.write(text.rstrip("\n") + "\n\n" + directive)
